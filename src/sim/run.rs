//! A seed on the real thing: its script runs round by round until it ends or something is found.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::settings::Settings;
use tokio::runtime::Runtime;

use crate::auditor::books::Books;
use crate::daemon::Post;
use crate::error::SimError;
use crate::feed::Reader;
use crate::generate::known::Known;
use crate::generate::{Generator, length};
use crate::listings::Listings;
use crate::look;
use crate::lot::{Faults, Lots};
use crate::round::{Found, World};
use crate::shape::Shape;
use crate::shrink;
use crate::stage::Stage;
use crate::step::{Scripted, Step};
use crate::tally::Tally;

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps of its script, more or less.
    pub steps: usize,
    /// What breaks.
    pub faults: Faults,
    /// How often a failing script is run at most to make it shorter.
    pub shrink_tries: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            steps: 80,
            faults: Faults::All,
            shrink_tries: 40,
        }
    }
}

/// A seed that found something.
#[derive(Debug)]
pub struct Failure {
    /// Which.
    pub seed: u64,
    /// What was found.
    pub words: String,
    /// When, before it was run again.
    pub found_at: Instant,
    /// In how many of how many further runs of the same script something was found again.
    pub again: (usize, usize),
    /// The shortest script that found something.
    pub script: Vec<Scripted>,
    /// What that found.
    pub shrunk_words: String,
}

/// Something that runs scripts: a stage with its own runtime.
pub struct Runner {
    runtime: Runtime,
    stage: Stage,
}

/// A script that was run.
struct Run {
    script: Vec<Scripted>,
    tally: Tally,
    found: Option<String>,
}

/// Where the next step comes from.
enum Source<'a> {
    Chance(Box<Generator>, usize),
    Script(VecDeque<&'a Scripted>),
}

impl Runner {
    /// Starts the private Postgres.
    pub fn open() -> Result<Self, SimError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SimError::system("making a runtime"))?;
        let stage = runtime.block_on(Stage::open())?;
        Ok(Self { runtime, stage })
    }

    /// Stops it and removes what it left.
    pub fn close(self) -> Result<(), SimError> {
        self.runtime.block_on(self.stage.close())
    }

    /// Runs a seed. A finding is run again and shrunk.
    pub fn run(
        &mut self,
        seed: u64,
        options: Options,
    ) -> Result<(Tally, Option<Box<Failure>>), SimError> {
        let shape = Arc::new(Shape::from_seed(seed));
        let generator = Box::new(Generator::new(Arc::clone(&shape)));
        let source = Source::Chance(generator, length(seed, options.steps));
        let run = self.play(&shape, source, options)?;
        let Some(words) = run.found else {
            return Ok((run.tally, None));
        };
        let failure = self.narrow(&shape, run.script, words, options)?;
        Ok((run.tally, Some(Box::new(failure))))
    }

    /// Runs a script that was written down; what it finds.
    pub fn replay(
        &mut self,
        shape: &Arc<Shape>,
        script: &[Scripted],
        options: Options,
    ) -> Result<Option<String>, SimError> {
        let source = Source::Script(script.iter().collect());
        Ok(self.play(shape, source, options)?.found)
    }

    fn narrow(
        &mut self,
        shape: &Arc<Shape>,
        script: Vec<Scripted>,
        words: String,
        options: Options,
    ) -> Result<Failure, SimError> {
        let found_at = Instant::now();
        let mut again = 0;
        for _ in 0..REPEATS {
            let found = self.replay(shape, &script, options)?;
            again += usize::from(found.is_some());
        }
        let mut shrunk_words = words.clone();
        let mut short = script;
        if again > 0 {
            let mut broken = None;
            // What does not fail every time is given a second chance.
            let tries = if again == REPEATS { 1 } else { 2 };
            short = shrink::shrink(&short, options.shrink_tries, |script| {
                (0..tries).any(|_| match self.replay(shape, script, options) {
                    Ok(Some(words)) => {
                        shrunk_words = words;
                        true
                    }
                    Ok(None) => false,
                    Err(error) => {
                        broken = Some(error);
                        false
                    }
                })
            });
            if let Some(error) = broken {
                return Err(error);
            }
        }
        Ok(Failure {
            seed: shape.seed,
            words,
            found_at,
            again: (again, REPEATS),
            script: short,
            shrunk_words,
        })
    }

    fn play(
        &mut self,
        shape: &Arc<Shape>,
        source: Source<'_>,
        options: Options,
    ) -> Result<Run, SimError> {
        let Self { runtime, stage } = self;
        runtime.block_on(play(stage, shape, source, options))
    }
}

/// Further runs of a script that found something.
const REPEATS: usize = 3;

async fn play(
    stage: &mut Stage,
    shape: &Arc<Shape>,
    mut source: Source<'_>,
    options: Options,
) -> Result<Run, SimError> {
    let began = Instant::now();
    let mut world = enter(stage, shape, options).await?;
    let reader = Reader::start(world.observer.clone());
    world.rests = reader.rests();
    world.tally.spend("a seed's beginning", began.elapsed());
    let mut script = Vec::new();
    let mut found = Ok(());
    while found.is_ok() {
        let round = source.round(&world);
        if round.is_empty() {
            break;
        }
        script.extend(round.iter().cloned());
        found = world.through(&round).await?;
    }
    if found.is_ok() {
        found = world.at_the_end().await?;
    }
    let (found, tally) = leave(world, reader, found).await?;
    Ok(Run {
        script,
        tally,
        found: found.err(),
    })
}

async fn enter<'a>(
    stage: &'a mut Stage,
    shape: &Arc<Shape>,
    options: Options,
) -> Result<World<'a>, SimError> {
    let ground = stage.ground(shape).await?;
    let lots = Lots::of(shape.seed, options.faults);
    let mut posts = Vec::new();
    for at in 0..lots.daemons() {
        let post = Post::new(stage.options(&ground, at));
        post.start().await?;
        posts.push(post);
    }
    let looking = Settings {
        read_connections: 2,
        batch_connections: 1,
        ..Settings::default()
    };
    let observer = Ledger::open(stage.observer(&ground), looking).await?;
    let mut listings = Vec::new();
    for ids in ground.ids.properties() {
        listings.push(Listings::read(&observer, ids.property).await?);
    }
    Ok(World {
        books: Books::open(shape, &ground.ids),
        now: shape.start,
        stage,
        ground,
        posts,
        observer,
        listings,
        rests: Arc::default(),
        was_restarted: false,
        went_unseen: false,
        lots,
        tally: Tally::default(),
    })
}

/// Closes the daemons and asks what can only be asked at the end: what the feed saw, and what the
/// server's log says.
async fn leave(
    world: World<'_>,
    reader: Reader,
    mut found: Result<(), String>,
) -> Result<(Result<(), String>, Tally), SimError> {
    let began = Instant::now();
    let mut tally = world.tally;
    for post in &world.posts {
        post.close().await;
    }
    let (missed, entries) = reader.finish(&world.ground.pool).await?;
    tally.entries += u64::try_from(entries).unwrap_or(0);
    let archived = look::archived(&world.ground.pool).await?;
    tally.brought_back += tally.archived.saturating_sub(archived);
    let complaints = world.stage.complaints()?;
    if found.is_ok() && !missed.is_empty() {
        found = Err(missed.join("\n"));
    }
    if found.is_ok() && !complaints.is_empty() {
        found = Err(format!("the server's log says:\n{}", complaints.join("\n")));
    }
    let _ = tokio::time::timeout(Duration::from_secs(5), world.observer.close()).await;
    world.stage.tear_down(world.ground).await?;
    tally.spend("a seed's end", began.elapsed());
    Ok((found, tally))
}

impl World<'_> {
    /// Runs a round and lets the time of its waits pass.
    async fn through(&mut self, round: &[Scripted]) -> Found {
        let mut steps = Vec::new();
        let mut minutes = 0;
        let mut alone = None;
        for step in round {
            match step.step {
                Step::Wait { minutes: more } => minutes += i64::from(more),
                _ if step.step.is_alone() => alone = Some(step),
                _ => steps.push(step.clone()),
            }
        }
        if !steps.is_empty() {
            let found = self.round(&steps).await?;
            if let Err(words) = found {
                let numbers: Vec<String> = steps.iter().map(|s| s.number.to_string()).collect();
                let at = format!("steps {} at {}", numbers.join(", "), self.now);
                return Ok(Err(format!("{at}:\n{words}")));
            }
        }
        if let Some(step) = alone
            && let Err(words) = self.alone(step).await?
        {
            let at = format!("step {} at {}", step.number, self.now);
            return Ok(Err(format!("{at}:\n{words}")));
        }
        let passed = SignedDuration::from_mins(minutes);
        self.now = self.now.saturating_add(passed).unwrap_or(self.now);
        Ok(Ok(()))
    }
}

impl Source<'_> {
    /// The steps of the next round; none at the end.
    fn round(&mut self, world: &World<'_>) -> Vec<Scripted> {
        let mut round = Vec::new();
        while let Some(step) = self.step(world) {
            let ends = world.lots.ends_round(&step, round.len() + 1);
            round.push(step);
            if ends {
                break;
            }
        }
        round
    }

    fn step(&mut self, world: &World<'_>) -> Option<Scripted> {
        match self {
            Self::Script(script) => script.pop_front().cloned(),
            Self::Chance(generator, left) => {
                *left = left.checked_sub(1)?;
                Some(generator.step(&Known {
                    books: &world.books,
                    ids: &world.ground.ids,
                    now: world.now,
                }))
            }
        }
    }
}
