//! Images: what kind they are, whether they are whole, and smaller ones where a model takes no more.
//!
//! An image that needs no scaling goes as the bytes that it came in. Everything is decoded once all the same: a broken image in the
//! history makes providers refuse every request after it.
use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, codecs::jpeg::JpegEncoder, imageops::FilterType,
};
use protocol::{Blob, Failure, Outcome};

use crate::files::{read, stamp};

/// Bytes of a file that is taken for an image.
const MAX_FILE: u64 = 64 << 20;
/// Memory for one decoded image.
const MAX_DECODED: u64 = 512 << 20;

/// How large an image may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// As it is.
    Any,
    /// Neither side above this many pixels.
    Side(u32),
    /// Codex for an image of the user (seen in 0.171.0: 3000x2500 becomes 1727x1440): no side above 2048, and no more
    /// than 2500 squares of 32 pixels, the scale lowered so that the tighter side is a whole number of squares.
    Squares,
}

/// An image ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime: &'static str,
    pub bytes: Vec<u8>,
    /// Width and height in pixels before and after.
    pub original: (u32, u32),
    pub shown: (u32, u32),
}

/// Not an image that can be sent; what it is instead, where that can be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no image in a known format{}", detected.as_ref().map(|d| format!(" (it is {d})")).unwrap_or_default())]
pub struct BadImage {
    pub detected: Option<String>,
}

/// Checks an image and scales it down where it has to be.
pub fn picture(bytes: Vec<u8>, fit: Fit) -> Result<Picture, BadImage> {
    let Some(format) = sniff(&bytes) else { return Err(BadImage { detected: other_kind(&bytes).map(str::to_owned) }) };
    let broken = || BadImage { detected: Some(format!("a broken {}", format.extensions_str()[0])) };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| broken())?;
    let orientation = decoder.orientation().map_err(|_| broken())?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(|_| broken())?;
    image.apply_orientation(orientation);
    let original = (image.width(), image.height());
    let shown = fitted(original, fit);
    let mime = mime(format);
    if shown == original {
        return Ok(Picture { mime, bytes, original, shown });
    }
    let small = image.resize_exact(shown.0, shown.1, FilterType::Triangle);
    // What has no transparency came as JPEG; the others are small as PNG.
    let format = if format == ImageFormat::Jpeg { format } else { ImageFormat::Png };
    let mut out = Cursor::new(Vec::new());
    small.write_to(&mut out, format).map_err(|_| broken())?;
    Ok(Picture { mime: self::mime(format), bytes: out.into_inner(), original, shown })
}

/// The same as a JPEG of at most `max` bytes: of lower quality first, then smaller. None: it cannot be written.
fn lighter(picture: &Picture, max: u64) -> Option<Picture> {
    let mut image = image::load_from_memory(&picture.bytes).ok()?.into_rgb8();
    loop {
        for quality in [80, 60, 40, 20] {
            let mut bytes = Vec::new();
            JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&image).ok()?;
            if bytes.len() as u64 <= max {
                let shown = (image.width(), image.height());
                return Some(Picture { mime: "image/jpeg", bytes, original: picture.original, shown });
            }
        }
        let (width, height) = (image.width() * 3 / 4, image.height() * 3 / 4);
        if width == 0 || height == 0 {
            return None;
        }
        image = image::imageops::resize(&image, width, height, FilterType::Triangle);
    }
}

fn mime(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Jpeg => "image/jpeg",
        ImageFormat::Gif => "image/gif",
        ImageFormat::WebP => "image/webp",
        _ => "image/png",
    }
}

/// One of the four formats that models take, by the bytes and never by the name.
fn sniff(bytes: &[u8]) -> Option<ImageFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(ImageFormat::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(512)];
    Some(match head {
        [] => "empty",
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        [b'B', b'M', ..] => "a BMP image",
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => "a TIFF image",
        [0, 0, 1, 0, ..] => "an ICO image",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "HEIC, AVIF or a video",
        _ => match std::str::from_utf8(head) {
            Ok(text) if text.contains("<svg") => "an SVG image",
            Ok(text) if text.trim_start().to_ascii_lowercase().starts_with("<!doctype html") => "an HTML page",
            Ok(_) => "text",
            Err(e) if e.error_len().is_none() => "text",
            Err(_) => return None,
        },
    })
}

/// The size to show `(width, height)` in. Never larger, never 0.
fn fitted((width, height): (u32, u32), fit: Fit) -> (u32, u32) {
    let (w, h) = (f64::from(width), f64::from(height));
    let side = |max: u32| (f64::from(max) / w.max(h)).min(1.0);
    let scale = match fit {
        Fit::Any => 1.0,
        Fit::Side(max) => side(max),
        Fit::Squares => {
            const SQUARE: f64 = 32.0;
            const MAX_SQUARES: f64 = 2500.0;
            let scale = side(2048);
            let squares = (w * scale / SQUARE).ceil() * (h * scale / SQUARE).ceil();
            if squares <= MAX_SQUARES {
                scale
            } else {
                let scale = (SQUARE * SQUARE * MAX_SQUARES / (w * h)).sqrt();
                let (across, down) = (w * scale / SQUARE, h * scale / SQUARE);
                scale * (across.floor() / across).min(down.floor() / down)
            }
        }
    };
    if scale >= 1.0 {
        return (width, height);
    }
    match fit {
        Fit::Side(_) => (((w * scale).round() as u32).max(1), ((h * scale).round() as u32).max(1)),
        // Cut, not rounded: 1727.99... was seen as 1727.
        _ => (((w * scale) as u32).max(1), ((h * scale) as u32).max(1)),
    }
}

/// An image that the user gave, made as Codex makes it: fitted to [`Fit::Squares`]. The error is for the user.
pub fn read_image(path: &std::path::Path, name: &str) -> Result<Blob, String> {
    let (bytes, _) = read::bytes(path, MAX_FILE).map_err(|failure| match failure {
        Failure::Io { message, .. } => format!("{name}: {message}"),
        Failure::NotAFile { .. } => format!("{name} is not a file"),
        Failure::TooLarge { bytes, limit, .. } => format!("{name} has {bytes} bytes, more than {limit}"),
        other => format!("{name}: {other:?}"),
    })?;
    let picture = picture(bytes, Fit::Squares).map_err(|bad| format!("{name}: {bad}"))?;
    Ok(Blob::new(stamp::hash(&picture.bytes), picture.mime, picture.bytes))
}

pub(crate) fn read(path: &std::path::Path, max_side: Option<u32>, max_bytes: Option<u64>) -> Result<Outcome, Failure> {
    let (bytes, meta) = read::bytes(path, MAX_FILE)?;
    let stamp = stamp::of(&meta, &bytes);
    let fit = max_side.map_or(Fit::Any, Fit::Side);
    let mut picture =
        picture(bytes, fit).map_err(|bad| Failure::BadImage { path: path.to_owned(), detected: bad.detected })?;
    let heavy = max_bytes.filter(|max| picture.bytes.len() as u64 > *max);
    if let Some(lighter) = heavy.and_then(|max| lighter(&picture, max)) {
        picture = lighter;
    }
    let id = if picture.shown == picture.original && heavy.is_none() {
        stamp.hash.clone()
    } else {
        stamp::hash(&picture.bytes)
    };
    Ok(Outcome::Media {
        blob: Blob::new(id, picture.mime, picture.bytes),
        original: Some(picture.original),
        shown: Some(picture.shown),
        stamp,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    #[test]
    fn sizes() {
        let check = |from, fit, to| assert_eq!(fitted(from, fit), to, "{from:?} {fit:?}");
        check((3000, 2000), Fit::Side(2000), (2000, 1333));
        check((100, 100), Fit::Side(2000), (100, 100));
        check((5000, 1), Fit::Side(100), (100, 1));
        check((3000, 2500), Fit::Squares, (1727, 1440));
        check((1024, 768), Fit::Squares, (1024, 768));
        check((4096, 100), Fit::Squares, (2048, 50));
        check((9000, 9000), Fit::Any, (9000, 9000));
    }

    #[test]
    fn small_images_keep_their_bytes_and_large_ones_are_scaled() {
        for (format, mime) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = image(40, 20, format);
            let expected = Picture { mime, bytes: bytes.clone(), original: (40, 20), shown: (40, 20) };
            assert_eq!(picture(bytes.clone(), Fit::Side(40)), Ok(expected));
            let small = picture(bytes, Fit::Side(10)).unwrap();
            assert_eq!((small.original, small.shown), ((40, 20), (10, 5)));
            assert_eq!(picture(small.bytes, Fit::Any).unwrap().shown, (10, 5));
        }
    }

    #[test]
    fn a_heavy_image_is_made_lighter() {
        let noise = image::RgbImage::from_fn(300, 200, |x, y| {
            let mix = x.wrapping_mul(2_654_435_761).wrapping_mul(y.wrapping_mul(40_503) ^ 0x9E37);
            image::Rgb([mix as u8, (mix >> 8) as u8, (mix >> 16) as u8])
        });
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("noise.png");
        noise.save(&path).unwrap();
        let read = |max_bytes| match read(&path, Some(250), max_bytes) {
            Ok(Outcome::Media { blob, original, shown, .. }) => (blob.mime, blob.len, original, shown),
            other => panic!("{other:?}"),
        };
        let (mime, whole, ..) = read(None);
        assert_eq!((mime.as_str(), whole > 50_000), ("image/png", true));
        assert_eq!(read(Some(whole)), ("image/png".into(), whole, Some((300, 200)), Some((250, 167))));
        let (mime, len, original, shown) = read(Some(20_000));
        assert_eq!((mime.as_str(), len <= 20_000, original), ("image/jpeg", true, Some((300, 200))));
        assert!(shown.is_some_and(|(w, h)| w <= 250 && h <= 167), "{shown:?}");
        assert!(read(Some(2_000)).1 <= 2_000);
    }

    #[test]
    fn what_is_no_image_is_named() {
        let check = |bytes: &[u8], detected: Option<&str>| {
            let expected = BadImage { detected: detected.map(str::to_owned) };
            assert_eq!(picture(bytes.to_vec(), Fit::Any), Err(expected));
        };
        let png = image(40, 20, ImageFormat::Png);
        check(&png[..png.len() / 2], Some("a broken png"));
        check(b"%PDF-1.7", Some("a PDF"));
        check(b"hello", Some("text"));
        check(b"<svg xmlns=\"\"/>", Some("an SVG image"));
        check(b"", Some("empty"));
        check(b"\xC4\xE3\xBA\xC3 ", None);
    }
}
