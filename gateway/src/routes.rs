//! Which model answers a name: an alias, a model of the provider, a name with its provider in front, else the model of `-m`.
use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use protocol::{ErrorKind, Fit, ModelInfo, ProviderError};
use providers::{Client, ModelOverrides, Registry, Retries, model_info};
use wires::Wire;

use crate::Setup;

/// A model, ready to be asked.
pub(crate) struct Target {
    pub(crate) client: Client,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) fit: Fit,
    pub(crate) model: ModelInfo,
}

pub(crate) struct Routes {
    setup: Setup,
    /// Named by the user; None: a name may bring its own.
    provider: Option<String>,
    model: Option<String>,
    /// Targets so far by provider and model, with their open connections.
    known: RefCell<HashMap<(String, String), Rc<Target>>>,
}

/// Targets that are kept. Clients ask for a handful; one that asks for names without end shall not fill the memory.
const MOST_KNOWN: usize = 256;
const DEFAULT_PROVIDER: &str = "openai";

impl Routes {
    /// Err where `-m`, the provider or an alias leads nowhere: better at the start than at the first request.
    pub(crate) fn new(setup: Setup, provider: Option<String>, model: Option<String>) -> Result<Routes, String> {
        let routes = Routes { setup, provider, model, known: RefCell::default() };
        let named = routes.model.as_ref().map(|model| routes.place(model));
        let aliases = routes.setup.aliases.values().map(|to| routes.place(to));
        for (provider, model) in named.into_iter().chain(aliases) {
            routes.target(provider, model).map_err(|error| format!("Error: {}", error.message))?;
        }
        if let Some(provider) = &routes.provider {
            routes.registry().provider(provider).map_err(|error| format!("Error: {error}"))?;
        }
        Ok(routes)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.setup.registry
    }

    pub(crate) fn aliases(&self) -> &BTreeMap<String, String> {
        &self.setup.aliases
    }

    /// The model of `-m`, and its provider.
    pub(crate) fn fallback(&self) -> Option<(String, String)> {
        self.model.as_ref().map(|model| self.place(model))
    }

    /// The provider whose models clients may ask for by their own names.
    pub(crate) fn provider(&self) -> String {
        let of_model = || Some(self.fallback()?.0);
        self.provider.clone().or_else(of_model).unwrap_or_else(|| DEFAULT_PROVIDER.to_owned())
    }

    /// For the line at the start.
    pub(crate) fn summary(&self) -> String {
        match self.fallback() {
            Some((provider, model)) => format!("→ {provider}, {model}"),
            None => format!("→ {}", self.provider()),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Result<Rc<Target>, ProviderError> {
        let (provider, model) = self.resolve(name);
        self.target(provider, model)
    }

    pub(crate) fn resolve(&self, name: &str) -> (String, String) {
        if let Some(to) = self.setup.aliases.get(name) {
            return self.place(to);
        }
        let provider = self.provider();
        let listed = self.registry().provider(&provider).is_ok_and(|there| there.listed_model(name).is_some());
        let own = || Some((provider.clone(), name.to_owned())).filter(|_| listed);
        let split = || self.registry().split(name).filter(|_| self.provider.is_none());
        own().or_else(split).or_else(|| self.fallback()).unwrap_or_else(|| (provider.clone(), name.to_owned()))
    }

    /// `provider/model`, or a model of the provider that the user named.
    fn place(&self, to: &str) -> (String, String) {
        // With a provider named, a slash in `-m` belongs to the model; an alias may still name another provider.
        let own = self
            .provider
            .as_ref()
            .filter(|provider| self.registry().provider(provider).is_ok_and(|there| there.listed_model(to).is_some()));
        let split = || self.registry().split(to);
        let default = || self.provider.clone().unwrap_or_else(|| DEFAULT_PROVIDER.to_owned());
        match own {
            Some(provider) => (provider.clone(), to.to_owned()),
            None => split().unwrap_or_else(|| (default(), to.to_owned())),
        }
    }

    fn target(&self, provider: String, model: String) -> Result<Rc<Target>, ProviderError> {
        let key = (provider, model);
        if let Some(target) = self.known.borrow().get(&key) {
            return Ok(target.clone());
        }
        let (id, model) = &key;
        let found = self.registry().provider(id);
        let found = found.map_err(|error| ProviderError::new(ErrorKind::NotFound, error.to_string()))?;
        let mut provider = found.for_model(model);
        // Clients ask again by themselves, and know better when.
        provider.retries = Retries { request: 0, stream: 0 };
        let fit = provider.fit(model);
        let overrides = ModelOverrides { max_output_tokens: self.setup.max_output, ..ModelOverrides::default() };
        let info = model_info(&provider, model, &overrides);
        let target =
            Rc::new(Target { wire: wires::wire(provider.wire), client: Client::new(provider), fit, model: info });
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, target.clone());
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[track_caller]
    fn check(provider: Option<&str>, model: Option<&str>, aliases: &[(&str, &str)], names: &[(&str, &str, &str)]) {
        let aliases = aliases.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        let setup = Setup { registry: Registry::default(), aliases, max_output: None };
        let routes = Routes::new(setup, provider.map(str::to_owned), model.map(str::to_owned)).expect("routes");
        for (name, provider, model) in names {
            assert_eq!(routes.resolve(name), ((*provider).to_owned(), (*model).to_owned()), "{name}");
        }
    }

    #[test]
    fn names_find_their_model() {
        check(
            None,
            None,
            &[],
            &[("x", "openai", "x"), ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5")],
        );
        check(
            None,
            Some("deepseek/deepseek-v4-pro"),
            &[("fast", "anthropic/claude-haiku-4-5"), ("other", "deepseek-v4-flash")],
            &[
                ("gpt-5.5", "deepseek", "deepseek-v4-pro"),
                ("fast", "anthropic", "claude-haiku-4-5"),
                ("other", "openai", "deepseek-v4-flash"),
                ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
            ],
        );
        // The provider's own name for a model may look like another provider's.
        check(
            Some("openrouter"),
            Some("deepseek/deepseek-v4-pro"),
            &[],
            &[("gpt-5.5", "openrouter", "deepseek/deepseek-v4-pro")],
        );
    }

    #[test]
    fn what_leads_nowhere_is_told_at_the_start() {
        let setup = || Setup { registry: Registry::default(), aliases: BTreeMap::new(), max_output: None };
        let said = Routes::new(setup(), Some("nowhere".into()), Some("m".into())).err().unwrap_or_default();
        assert!(said.starts_with("Error: Model provider `nowhere` not found."), "{said}");
    }
}
