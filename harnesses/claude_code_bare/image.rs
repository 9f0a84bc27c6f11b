//! What Read says of images: how they were scaled, and what a file is that has the name of an image and is none. As measured on the
//! original; only a damaged image it would send, which makes servers refuse the whole conversation.
use std::path::Path;

/// Bytes at the start of a file that are shown.
const SHOWN: usize = 24;
const HEX: usize = 8;

pub(crate) fn scaled_note(original: Option<(u32, u32)>, shown: Option<(u32, u32)>) -> Option<String> {
    let ((ow, oh), (sw, sh)) = (original?, shown?);
    if (ow, oh) == (sw, sh) || sw == 0 {
        return None;
    }
    let factor = f64::from(ow) / f64::from(sw);
    Some(format!(
        "[Image: original {ow}x{oh}, displayed at {sw}x{sh}. Multiply coordinates by {factor:.2} to map to original image.]"
    ))
}

/// The answer for a file with these bytes.
pub(crate) fn bad(path: &Path, bytes: &[u8]) -> String {
    let path = path.display();
    if bytes.is_empty() {
        return format!("Image file is empty: {path}");
    }
    match detected(bytes) {
        Some(detected) => format!(
            "File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. Detected: {detected}. Often a download saved an error page under that name. Look at it with `file \"{path}\"` or `head -c 500 \"{path}\"` in Bash."
        ),
        None => format!(
            "The image is damaged or cut off, so it was not sent: {path}. Look at it with `file \"{path}\"` in Bash, or get it again."
        ),
    }
}

/// None: an image of a known format, so it must be damaged.
fn detected(bytes: &[u8]) -> Option<String> {
    let is_image = bytes.starts_with(b"\x89PNG")
        || bytes.starts_with(b"\xff\xd8\xff")
        || bytes.starts_with(b"GIF8")
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"));
    if is_image {
        return None;
    }
    let printable = |byte: &u8| if matches!(byte, 0x20..0x7f) { char::from(*byte) } else { '.' };
    let start: String = bytes.iter().take(SHOWN).map(printable).collect();
    let starts = |kind: &str| format!("{kind} (starts with \"{start}\")");
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).trim_start().to_ascii_lowercase();
    Some(match bytes {
        [b'%', b'P', b'D', b'F', ..] => "PDF document".to_owned(),
        [b'P', b'K', 3, 4, ..] => "ZIP archive (Office documents such as .pptx/.docx/.xlsx are ZIPs)".to_owned(),
        _ if head.starts_with("<html") || head.starts_with("<!") => starts("HTML document"),
        _ if head.starts_with("<?xml") || head.starts_with("<svg") => starts("XML/SVG document"),
        [b'{' | b'[', ..] => starts("JSON/text"),
        _ => {
            let hex: Vec<String> = bytes.iter().take(HEX).map(|byte| format!("{byte:02x}")).collect();
            format!("unrecognized bytes (hex: {})", hex.join(" "))
        }
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn bytes_are_named_as_measured() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(detected(bytes).as_deref(), Some(expected));
        check(b"not an image", "unrecognized bytes (hex: 6e 6f 74 20 61 6e 20 69)");
        check(b"ab", "unrecognized bytes (hex: 61 62)");
        check(b" {\"a\":1}", "unrecognized bytes (hex: 20 7b 22 61 22 3a 31 7d)");
        check(b"{\"error\":1}", "JSON/text (starts with \"{\"error\":1}\")");
        check(b"<!DOCTYPE html><html></html>", "HTML document (starts with \"<!DOCTYPE html><html></h\")");
        check(b"  \n<html>", "HTML document (starts with \"  .<html>\")");
        check(b"<?xml version=\"1.0\"?><Error/>", "XML/SVG document (starts with \"<?xml version=\"1.0\"?><Er\")");
        check(b"%PDF-1.4", "PDF document");
        check(b"PK\x03\x04aa", "ZIP archive (Office documents such as .pptx/.docx/.xlsx are ZIPs)");
        assert_eq!(detected(b"GIF89a\0\0\0"), None);
        assert_eq!(bad(Path::new("/w/e.png"), b""), "Image file is empty: /w/e.png");
    }
}
