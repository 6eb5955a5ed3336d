/**
 * Users write on all platforms all the time. Faults affect one platform after another, then several platforms at
 * random, with kills in between. At the end every message must have been answered exactly once.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import { textOf } from '../delivery-counts.ts'
import { createRandom, type Random } from '../random.ts'
import { type Episode, evaluate, type PlatformsResult } from './evaluation.ts'
import { type FaultScenario, faultScenariosOf, type Limit } from './fault-scenarios.ts'
import type { TrackedMessage } from './message-log.ts'
import { allChats, type TestPlatform } from './test-platform.ts'
import { createTestSystem, type TestSystem } from './test-system.ts'
import { createUsers } from './users.ts'

export interface PlatformsOptions {
  readonly seed: number
  /** Starts each platform on its local server. */
  readonly platforms: readonly (() => Promise<TestPlatform>)[]
  /** Only the faults of this platform, and only those with this text in their name. All of them if left out. */
  readonly platform?: string | undefined
  readonly fault?: string | undefined
  /** The duration of the random faults, s. */
  readonly randomSeconds: number
  /** Keeps the home and reports its path. */
  readonly keepHome?: boolean
  progress(line: string): void
}

/** Modules that are loaded at their first use are loaded and compiled by then. */
const warmUpMs = 3_000
/** Time pendingBefore each fault, in which the answer times without faults are measured. */
const quietMs = 1_000
const longOutageMs = 12_000
/** The limit for an answer after the end of a fault. It is longer for connections that only a watchdog closes. */
const answerTimeoutMs = 20_000
const longAnswerTimeoutMs = 60_000
/** The interval at which postponed messages are counted. */
const postponedPollMs = 500
/** After this time without a new answer from a running gateway, the missing answers count as lost. */
const silenceMs = 60_000

/** Rejects when the daemon cannot be started or exits by itself. All other failures are in the result. */
export async function runPlatforms(options: PlatformsOptions): Promise<PlatformsResult> {
  const startedAt = performance.now()
  const random = createRandom(options.seed)
  const testPlatforms = await Promise.all(options.platforms.map((start) => start()))
  const system = await createTestSystem(testPlatforms)
  const limits = new Map<string, Limit[]>(testPlatforms.map(({ platform }) => [platform, []]))
  const afterKills = new Map<string, Limit[]>(testPlatforms.map(({ platform }) => [platform, []]))
  if (options.keepHome === true) options.progress(`the home is ${system.home}`)
  const users = createUsers(system, createRandom(options.seed + 1))
  const episodes: Episode[] = []
  try {
    await system.start()
    await system.waitUntilConnected()
    await awaitFirstAnswers(system)
    users.start()
    await pause(warmUpMs)
    for (const testPlatform of testPlatforms.filter(({ platform }) => platform === (options.platform ?? platform))) {
      const known = faultScenariosOf(testPlatform, limits.get(testPlatform.platform) ?? [])
      for (const scenario of known.filter(({ name }) => name.includes(options.fault ?? ''))) {
        options.progress(`${testPlatform.platform}: ${scenario.name}`)
        if (scenario.kills !== true) episodes.push(await measureWithoutFault(testPlatform, quietMs))
        episodes.push(await runFault(testPlatform, scenario, system))
      }
    }
    if ('long outage of all platforms'.includes(options.fault ?? '')) {
      options.progress('long outage of all platforms')
      episodes.push(...(await runSharedOutage(system, 'long outage of all platforms', async () => undefined)))
      options.progress('restart during a long outage of all platforms')
      const restart = async () => {
        await system.kill()
        await system.start()
      }
      episodes.push(...(await runSharedOutage(system, 'restart during a long outage of all platforms', restart)))
    }
    if (options.randomSeconds > 0) {
      options.progress(`random faults for ${options.randomSeconds} s`)
      await runRandomFaults(system, afterKills, random, options.randomSeconds * 1_000)
    }
    users.stop()
    await waitForLastAnswers(system, options.progress)
    await system.stop()
    return evaluate({
      messages: system.log.messages,
      sentMessages: new Map(
        testPlatforms.map((testPlatform) => [testPlatform.platform, allSentMessages(testPlatform)]),
      ),
      findsDrafts: new Set(testPlatforms.flatMap(({ platform, findsDrafts }) => (findsDrafts ? platform : []))),
      longChars: new Map(testPlatforms.map(({ platform, longChars }) => [platform, longChars])),
      outboxDeadLetters: system.outboxDeadLetters().map(({ platform, text }) => `${platform}: ${text.slice(0, 80)}`),
      inboxDeadLetters: system.inboxDeadLetters(),
      episodes,
      rates: testPlatforms.map(({ platform }) => ({
        platform,
        earlyCalls: earlyCallsIn(limits.get(platform)),
        earlyAfterKills: earlyCallsIn(afterKills.get(platform)),
        lateMs: (limits.get(platform) ?? []).flatMap((limit) => limit.lateMs()),
      })),
      seconds: (performance.now() - startedAt) / 1_000,
    })
  } finally {
    users.stop()
    await system.close(options.keepHome === true)
  }
}

function allSentMessages(testPlatform: TestPlatform) {
  return allChats(testPlatform.chats).flatMap((chat) => testPlatform.sentMessages(chat))
}

function earlyCallsIn(limits: readonly Limit[] = []): number {
  return limits.reduce((sum, limit) => sum + limit.earlyCalls(), 0)
}

/** Every chat gets one answer pendingBefore the first fault, because history can be fetched only for known chats. */
async function awaitFirstAnswers({ platforms: testPlatforms, log }: TestSystem): Promise<void> {
  const answers = testPlatforms.flatMap((testPlatform) =>
    allChats(testPlatform.chats).map((chat) => log.send(testPlatform, chat, 'plain').answered),
  )
  const all = await withTimeout(Promise.all(answers), answerTimeoutMs)
  if (!all.done) throw new Error(`the platforms did not answer: ${log.pending().map(({ chat }) => chat)}`)
}

async function measureWithoutFault({ platform }: TestPlatform, ms: number): Promise<Episode> {
  const from = performance.now()
  await pause(ms)
  return { platform, fault: undefined, from, to: performance.now(), measures: 'nothing', kills: false }
}

async function runFault(testPlatform: TestPlatform, scenario: FaultScenario, system: TestSystem): Promise<Episode> {
  const { name, durationMs, measures, kills = false } = scenario
  const from = performance.now()
  const end = await scenario.start(testPlatform, system)
  await pause(durationMs)
  const endOfFault = {
    testPlatform,
    system,
    endedAt: performance.now(),
    // A turn on another platform must not be killed again and again.
    pendingBefore: system.log.pending(kills ? undefined : testPlatform.platform),
    timeoutMs: measures === 'noticed' ? longAnswerTimeoutMs : answerTimeoutMs,
  }
  if (measures !== 'noticed') await end()
  const times = await measureRecovery(endOfFault)
  if (measures === 'noticed') await end()
  if (kills) system.log.dropDeadLetters(system.inboxDeadLetters())
  return { platform: testPlatform.platform, fault: name, from, to: performance.now(), measures, kills, ...times }
}

interface EndOfFault {
  readonly testPlatform: TestPlatform
  readonly system: TestSystem
  readonly endedAt: number
  /** The messages without an answer at that moment. */
  readonly pendingBefore: readonly TrackedMessage[]
  readonly timeoutMs: number
}

type RecoveryTimes = Pick<Episode, 'firstAnswerMs' | 'caughtUpMs' | 'postponed'>

/** Sends a message. Resolves when it and all earlier messages have an answer or are postponed, or after the timeout. */
async function measureRecovery(endOfFault: EndOfFault): Promise<RecoveryTimes> {
  const { testPlatform, system, endedAt, pendingBefore, timeoutMs } = endOfFault
  const probe = system.log.send(testPlatform, testPlatform.chats.probe, 'plain')
  const answeredAt = probe.answered.then(() => performance.now())
  const [first, caughtUp] = await Promise.all([
    withTimeout(answeredAt, timeoutMs),
    measureCatchUp(endOfFault, [probe, ...pendingBefore]),
  ])
  return { ...(first.done ? { firstAnswerMs: first.value - endedAt } : {}), ...caughtUp }
}

/** A chat waits for minutes after several crashes during one of its messages, so its messages are counted instead. */
async function measureCatchUp(
  { system, endedAt, timeoutMs }: EndOfFault,
  expected: readonly TrackedMessage[],
): Promise<Pick<Episode, 'caughtUpMs' | 'postponed'>> {
  const remaining = new Set(expected)
  let lastAnswerAt = endedAt
  const answers = expected.map(async (one) => {
    await one.answered
    remaining.delete(one)
    lastAnswerAt = performance.now()
  })
  const all = Promise.all(answers)
  while (performance.now() - endedAt < timeoutMs) {
    const { done } = await withTimeout(all, postponedPollMs)
    const postponed = done ? [] : system.postponedTexts()
    if (![...remaining].every((one) => postponed.includes(textOf(one)))) continue
    return { caughtUpMs: lastAnswerAt - endedAt, ...(remaining.size === 0 ? {} : { postponed: remaining.size }) }
  }
  return {}
}

/** A long outage, during which the delays between connection attempts grow. */
async function runSharedOutage(system: TestSystem, scenario: string, during: () => Promise<void>): Promise<Episode[]> {
  const { platforms: testPlatforms, log } = system
  const from = performance.now()
  for (const { faults } of testPlatforms) faults.startOutage('refuse')
  await during()
  await pause(longOutageMs)
  const endedAt = performance.now()
  const all = testPlatforms.map((testPlatform) => ({
    testPlatform,
    system,
    endedAt,
    pendingBefore: log.pending(testPlatform.platform),
    timeoutMs: answerTimeoutMs,
  }))
  for (const { faults } of testPlatforms) await faults.endOutage()
  return await Promise.all(
    all.map(async (one): Promise<Episode> => {
      const times = await measureRecovery(one)
      const { platform } = one.testPlatform
      return { platform, fault: scenario, from, to: performance.now(), measures: 'reconnect', kills: true, ...times }
    }),
  )
}

/**
 * These are not among the random faults: faults whose end depends on a running daemon, and events whose order changes when they
 * are fetched later.
 */
const needsDaemon: ReadonlySet<string> = new Set(['chat gone', '401', 'reordered events'])

/** One fault after another on each platform, independent of the other platforms, and kills of the daemon. */
async function runRandomFaults(
  system: TestSystem,
  limits: ReadonlyMap<string, Limit[]>,
  random: Random,
  ms: number,
): Promise<void> {
  const until = performance.now() + ms
  const isOver = () => performance.now() >= until
  async function runFaultsOn(testPlatform: TestPlatform): Promise<void> {
    const known = faultScenariosOf(testPlatform, limits.get(testPlatform.platform) ?? []).filter(
      ({ kills, name }) => kills !== true && !needsDaemon.has(name),
    )
    while (!isOver()) {
      await pause(random.between(200, 1_500))
      const scenario = known[random.between(0, known.length - 1)]
      if (scenario === undefined) return
      const end = await scenario.start(testPlatform, system)
      await pause(random.between(100, scenario.durationMs + 500))
      await end()
    }
  }
  async function kill(): Promise<void> {
    while (!isOver()) {
      await pause(random.between(1_500, 9_000))
      await system.kill()
      await pause(random.between(0, 500))
      await system.start()
    }
  }
  await Promise.all([...system.platforms.map(runFaultsOn), kill()])
}

/** Lets the gateway run until everything is answered, or until nothing has changed for too long. */
async function waitForLastAnswers(
  { log, platforms: testPlatforms, inboxDeadLetters: setAside, postponedTexts }: TestSystem,
  progress: (line: string) => void,
): Promise<void> {
  for (const { faults } of testPlatforms) faults.clear()
  log.dropDeadLetters(setAside())
  let pendingCount = log.pending().length
  let progressAt = performance.now()
  while (pendingCount > 0 && performance.now() - progressAt < silenceMs) {
    await pause(200)
    log.dropDeadLetters(setAside())
    const now = log.pending().length
    if (now !== pendingCount || postponedTexts().length > 0) progressAt = performance.now()
    pendingCount = now
  }
  if (pendingCount > 0) progress(`${pendingCount} messages have no answer`)
  // Replies that are repeated by mistake have arrived by now.
  await pause(2_000)
}
