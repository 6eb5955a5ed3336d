/**
 * Users write on all platforms all the time. Faults affect one platform after another, then several platforms at
 * random, with kills in between. At the end every message must have been answered exactly once.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import { createRandom, type Random } from '../random.ts'
import { startCrowd } from './crowd.ts'
import { type Episode, type PlatformsResult, reckon } from './reckoning.ts'
import { allChats, type Stage } from './stage.ts'
import type { Asked, Talk } from './talk.ts'
import { type Limit, type Trouble, troublesOf } from './troubles.ts'
import { createWorld, type World } from './world.ts'

export interface PlatformsOptions {
  readonly seed: number
  /** Starts each platform on its local server. */
  readonly stages: readonly (() => Promise<Stage>)[]
  /** Only the faults of this platform, and only those with this text in their name. All of them if left out. */
  readonly platform?: string
  readonly trouble?: string
  /** The duration of the random faults, s. */
  readonly randomSeconds: number
  /** Keeps the home and reports its path. */
  readonly keepHome?: boolean
  progress(line: string): void
}

/** Modules that are loaded at their first use are loaded and compiled by then. */
const warmUpMs = 3_000
/** Time before each fault, in which the answer times without faults are measured. */
const quietMs = 1_000
const longOutageMs = 12_000
/** The limit for an answer after the end of a fault. It is longer for connections that only a watchdog closes. */
const patienceMs = 20_000
const longPatienceMs = 60_000
/** After this time without a new answer from a running gateway, the missing answers count as lost. */
const silenceMs = 60_000

/** Rejects when the daemon cannot be started or exits by itself. All other failures are in the result. */
export async function runPlatforms(options: PlatformsOptions): Promise<PlatformsResult> {
  const begun = performance.now()
  const random = createRandom(options.seed)
  const stages = await Promise.all(options.stages.map((start) => start()))
  const world = await createWorld(stages)
  const limits = new Map<string, Limit[]>(stages.map(({ platform }) => [platform, []]))
  const afterKills = new Map<string, Limit[]>(stages.map(({ platform }) => [platform, []]))
  if (options.keepHome === true) options.progress(`the home is ${world.home}`)
  const crowd = startCrowd(world, createRandom(options.seed + 1))
  const episodes: Episode[] = []
  try {
    await world.start()
    await world.connected()
    await allAnswer(world)
    crowd.begin()
    await pause(warmUpMs)
    for (const stage of stages.filter(({ platform }) => platform === (options.platform ?? platform))) {
      const known = troublesOf(stage, limits.get(stage.platform) ?? [])
      for (const trouble of known.filter(({ name }) => name.includes(options.trouble ?? ''))) {
        options.progress(`${stage.platform}: ${trouble.name}`)
        if (trouble.kills !== true) episodes.push(await quiet(stage, quietMs))
        episodes.push(await suffer(stage, trouble, world))
      }
    }
    if ('long outage of all'.includes(options.trouble ?? '')) {
      options.progress('a long outage of all')
      episodes.push(...(await sufferTogether(world, 'a long outage of all', async () => undefined)))
      options.progress('a long outage of all, with a start in it')
      const startAnew = async () => {
        await world.kill()
        await world.start()
      }
      episodes.push(...(await sufferTogether(world, 'a start in a long outage of all', startAnew)))
    }
    if (options.randomSeconds > 0) {
      options.progress(`at random for ${options.randomSeconds} s`)
      await atRandom(world, afterKills, random, options.randomSeconds * 1_000)
    }
    crowd.sendHome()
    await lastAnswers(world, options.progress)
    await world.stop()
    return reckon({
      asked: world.talk.asked,
      shown: new Map(stages.map((stage) => [stage.platform, allShown(stage)])),
      longChars: new Map(stages.map(({ platform, longChars }) => [platform, longChars])),
      deadLetters: world.deadLetters().map(({ platform, text }) => `${platform}: ${text.slice(0, 80)}`),
      setAside: world.setAside(),
      episodes,
      rates: stages.map(({ platform }) => ({
        platform,
        earlyCalls: earlyIn(limits.get(platform)),
        earlyAfterKills: earlyIn(afterKills.get(platform)),
        lateMs: (limits.get(platform) ?? []).flatMap((limit) => limit.lateMs()),
      })),
      seconds: (performance.now() - begun) / 1_000,
    })
  } finally {
    crowd.sendHome()
    await world.close(options.keepHome === true)
  }
}

function allShown(stage: Stage) {
  return allChats(stage.chats).flatMap((chat) => stage.shown(chat))
}

function earlyIn(limits: readonly Limit[] = []): number {
  return limits.reduce((sum, limit) => sum + limit.earlyCalls(), 0)
}

/** Every chat gets one answer before the first fault, because history can be fetched only for known chats. */
async function allAnswer({ stages, talk }: World): Promise<void> {
  const asked = stages.flatMap((stage) => allChats(stage.chats).map((chat) => talk.ask(stage, chat, 'plain').answered))
  const all = await withTimeout(Promise.all(asked), patienceMs)
  if (!all.done) throw new Error(`the platforms did not answer: ${talk.waiting().map(({ chat }) => chat)}`)
}

async function quiet({ platform }: Stage, ms: number): Promise<Episode> {
  const from = performance.now()
  await pause(ms)
  return { platform, trouble: undefined, from, to: performance.now(), measures: 'nothing', kills: false }
}

async function suffer(stage: Stage, trouble: Trouble, world: World): Promise<Episode> {
  const { name, lastsMs, measures, kills = false } = trouble
  const from = performance.now()
  const end = await trouble.begin(stage, world)
  await pause(lastsMs)
  const whenOver = {
    stage,
    talk: world.talk,
    over: performance.now(),
    // A turn on another platform must not be killed again and again.
    before: world.talk.waiting(kills ? undefined : stage.platform),
    patienceMs: measures === 'noticed' ? longPatienceMs : patienceMs,
  }
  if (measures !== 'noticed') await end()
  const times = await recovery(whenOver)
  if (measures === 'noticed') await end()
  if (kills) world.talk.giveUp(world.setAside())
  return { platform: stage.platform, trouble: name, from, to: performance.now(), measures, kills, ...times }
}

interface WhenOver {
  readonly stage: Stage
  readonly talk: Talk
  readonly over: number
  /** The messages without an answer at that moment. */
  readonly before: readonly Asked[]
  readonly patienceMs: number
}

/** Sends a message. Resolves when it and all earlier messages have an answer, or after the timeout. */
async function recovery(whenOver: WhenOver): Promise<Pick<Episode, 'backMs' | 'caughtUpMs'>> {
  const { stage, talk, over, before, patienceMs } = whenOver
  const { answered } = talk.ask(stage, stage.chats.probe, 'plain')
  const sinceThen = async (all: Promise<unknown>) => {
    const { done } = await withTimeout(all, patienceMs)
    return done ? performance.now() - over : undefined
  }
  const [backMs, caughtUpMs] = await Promise.all([
    sinceThen(answered),
    sinceThen(Promise.all([answered, ...before.map((one) => one.answered)])),
  ])
  return { ...(backMs === undefined ? {} : { backMs }), ...(caughtUpMs === undefined ? {} : { caughtUpMs }) }
}

/** A long outage, during which the delays between connection attempts grow. */
async function sufferTogether(world: World, trouble: string, during: () => Promise<void>): Promise<Episode[]> {
  const { stages, talk } = world
  const from = performance.now()
  for (const { faults } of stages) faults.startOutage('refuse')
  await during()
  await pause(longOutageMs)
  const over = performance.now()
  const all = stages.map((stage) => ({ stage, talk, over, before: talk.waiting(stage.platform), patienceMs }))
  for (const { faults } of stages) await faults.endOutage()
  return await Promise.all(
    all.map(async (one): Promise<Episode> => {
      const times = await recovery(one)
      const { platform } = one.stage
      return { platform, trouble, from, to: performance.now(), measures: 'reconnect', kills: true, ...times }
    }),
  )
}

/**
 * Not among the random faults: faults whose end depends on a running daemon, and events whose order changes when they
 * are fetched later.
 */
const needsDaemon: ReadonlySet<string> = new Set(['chat gone', '401', 'reordered events'])

/** One fault after another on each platform, independent of the other platforms, and kills of the daemon. */
async function atRandom(world: World, limits: ReadonlyMap<string, Limit[]>, random: Random, ms: number): Promise<void> {
  const until = performance.now() + ms
  const isOver = () => performance.now() >= until
  async function befall(stage: Stage): Promise<void> {
    const known = troublesOf(stage, limits.get(stage.platform) ?? []).filter(
      ({ kills, name }) => kills !== true && !needsDaemon.has(name),
    )
    while (!isOver()) {
      await pause(random.between(200, 1_500))
      const trouble = known[random.between(0, known.length - 1)]
      if (trouble === undefined) return
      const end = await trouble.begin(stage, world)
      await pause(random.between(100, trouble.lastsMs + 500))
      await end()
    }
  }
  async function kill(): Promise<void> {
    while (!isOver()) {
      await pause(random.between(1_500, 9_000))
      await world.kill()
      await pause(random.between(0, 500))
      await world.start()
    }
  }
  await Promise.all([...world.stages.map(befall), kill()])
}

/** Lets the gateway run until everything is answered, or until nothing has changed for too long. */
async function lastAnswers({ talk, stages, setAside }: World, progress: (line: string) => void): Promise<void> {
  for (const { faults } of stages) faults.clear()
  talk.giveUp(setAside())
  let before = talk.waiting().length
  let movedAt = performance.now()
  while (before > 0 && performance.now() - movedAt < silenceMs) {
    await pause(200)
    talk.giveUp(setAside())
    const now = talk.waiting().length
    if (now !== before) movedAt = performance.now()
    before = now
  }
  if (before > 0) progress(`${before} messages wait for an answer in vain`)
  // Replies that are repeated by mistake have arrived by now.
  await pause(2_000)
}
