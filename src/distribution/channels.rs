//! The dialects, by code, handed in by the roof.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyrack_model::adapter::ChannelAdapter;
use keyrack_model::id::ChannelCode;

use crate::error::DistributionError;

/// Every adapter that is built in.
#[derive(Clone, Default)]
pub struct Channels {
    by_code: Arc<BTreeMap<ChannelCode, Arc<dyn ChannelAdapter>>>,
}

impl Channels {
    /// The adapters by their codes; of two with one code the later stays.
    pub fn new(adapters: Vec<Arc<dyn ChannelAdapter>>) -> Self {
        let by_code = adapters
            .into_iter()
            .map(|adapter| (adapter.channel(), adapter))
            .collect();
        Self {
            by_code: Arc::new(by_code),
        }
    }

    /// The adapter of a channel.
    pub fn find(&self, channel: &ChannelCode) -> Option<&Arc<dyn ChannelAdapter>> {
        self.by_code.get(channel)
    }

    /// The adapter of a channel that must be there.
    ///
    /// # Errors
    ///
    /// [`DistributionError::UnknownChannel`] where no adapter speaks it.
    pub fn adapter(
        &self,
        channel: &ChannelCode,
    ) -> Result<Arc<dyn ChannelAdapter>, DistributionError> {
        self.find(channel)
            .cloned()
            .ok_or_else(|| DistributionError::UnknownChannel(channel.clone()))
    }

    /// Every adapter, in order of code.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ChannelAdapter>> {
        self.by_code.values()
    }
}
