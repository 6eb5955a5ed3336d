/**
 * The faults of a chat platform in this proof with their durations. Each fault returns a function that ends it. The
 * effect on the daemon is measured elsewhere.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { RateWindow } from '../../kit/servers/rate-window.ts'
import { answeredToken, tokenOf, type UserMessage } from '../delivery-counts.ts'
import type { TestPlatform } from './test-platform.ts'
import type { TestSystem } from './test-system.ts'

export interface FaultScenario {
  readonly name: string
  /** From its start to its end, ms. */
  readonly durationMs: number
  /**
   * The meaning of the time from its end to the first answer: the duration of a reconnect (`reconnect`), the time
   * until a silent connection is detected (`noticed`: the fault ends only after an answer), or nothing.
   */
  readonly measures: 'reconnect' | 'noticed' | 'nothing'
  /** The fault affects the whole daemon, and with it the other platforms. */
  readonly kills?: true
  /** Starts the fault and resolves with a function that ends it. */
  start(testPlatform: TestPlatform, system: TestSystem): Promise<EndFault>
}

/** The calls that the platform received after a rate limit. */
export type Limit = Pick<RateWindow, 'earlyCalls' | 'lateMs'>

export type EndFault = () => void | Promise<void>

/** All faults of this platform. `limits` collects the rate limits that were set. */
export function faultScenariosOf(testPlatform: TestPlatform, limits: Limit[]): FaultScenario[] {
  return [
    ...outages,
    ...responseFaults,
    ...rateLimitFaults(limits),
    ...messageFaults,
    ...testPlatform.ownFaults.map(({ name, durationMs, start }) => ({
      name,
      durationMs,
      measures: 'reconnect' as const,
      start,
    })),
    ...killScenarios,
  ]
}

const everyCall = /./
const forever = Number.POSITIVE_INFINITY

const outages: readonly FaultScenario[] = [
  outage('connection reset', 'cut', 2_000),
  outage('connection refused', 'refuse', 2_000),
  outage('half-open, then reset', 'silent', 2_500),
  {
    name: 'half-open, without an end',
    durationMs: 0,
    measures: 'noticed',
    async start({ faults }) {
      return faults.freezeConnections()
    },
  },
]

function outage(name: string, how: 'cut' | 'refuse' | 'silent', durationMs: number): FaultScenario {
  return {
    name,
    durationMs,
    measures: 'reconnect',
    async start({ faults }) {
      faults.startOutage(how)
      return () => faults.endOutage()
    },
  }
}

const responseFaults: readonly FaultScenario[] = [
  {
    name: '5xx',
    durationMs: 2_000,
    measures: 'reconnect',
    async start({ faults, responses: { broken } }) {
      faults.respond(everyCall, broken, forever)
      return () => faults.clear()
    },
  },
  {
    name: '401',
    durationMs: 1_500,
    measures: 'reconnect',
    async start({ platform, faults, responses: { unauthorised } }, { reconfigure }) {
      faults.respond(everyCall, unauthorised, forever)
      return async () => {
        faults.clear()
        await reconfigure(platform)
      }
    },
  },
  {
    name: 'slow responses',
    durationMs: 2_500,
    measures: 'nothing',
    async start({ faults }) {
      faults.delay(everyCall, 800, forever)
      return () => faults.clear()
    },
  },
  {
    name: 'responses to sends lost',
    durationMs: 1_500,
    measures: 'nothing',
    async start({ faults, calls }) {
      faults.dropResponse(calls.send, 4)
      return () => faults.clear()
    },
  },
  {
    name: 'not modified',
    durationMs: 1_500,
    measures: 'nothing',
    async start(testPlatform, { log }) {
      const { faults, calls, chats } = testPlatform
      faults.dropResponse(calls.edit, 4)
      for (const chat of chats.busy) log.send(testPlatform, chat, 'wordy')
      return () => faults.clear()
    },
  },
]

function rateLimitFaults(limits: Limit[]): FaultScenario[] {
  const ms = 2_000
  return [
    {
      name: '429 storm, one chat',
      durationMs: 2 * ms,
      measures: 'nothing',
      async start({ faults, calls: { counted }, chats: { busy }, vendorIdOf: nameOf }) {
        limits.push(faults.limit({ on: counted, chat: nameOf(busy[0] ?? ''), ms, windows: 2 }))
        return () => undefined
      },
    },
    {
      name: '429 storm, everywhere',
      durationMs: 2 * ms,
      measures: 'nothing',
      async start({ faults, calls: { counted }, chats, vendorIdOf: nameOf, reportsScope: tellsScope }) {
        const limit = (chat?: string) => {
          const where = chat === undefined ? { scope: 'account' as const } : { chat: nameOf(chat) }
          return faults.limit({ on: counted, ms, windows: 2, ...where })
        }
        limits.push(tellsScope ? limit() : combineLimits(chats.busy.map(limit)))
        return () => undefined
      },
    },
  ]
}

/**
 * Without an account scope each chat gets its own rate limit, and may wait for the others. Therefore the first call
 * after the last of these limits counts.
 */
function combineLimits(windows: readonly RateWindow[]): Limit {
  return {
    earlyCalls: () => windows.reduce((sum, window) => sum + window.earlyCalls(), 0),
    lateMs() {
      const all = windows.map((window) => window.lateMs())
      const rounds = Math.min(...all.map(({ length }) => length))
      return Array.from({ length: rounds }, (_, round) => Math.min(...all.map((late) => late[round] ?? Number.NaN)))
    },
  }
}

const messageFaults: readonly FaultScenario[] = [
  {
    name: 'message too long',
    durationMs: 500,
    measures: 'nothing',
    async start(testPlatform, { log }) {
      for (const chat of testPlatform.chats.busy) log.send(testPlatform, chat, 'long')
      return () => undefined
    },
  },
  {
    name: 'chat gone',
    durationMs: 0,
    measures: 'nothing',
    async start(testPlatform, system) {
      const find = testPlatform.revokeAccess(testPlatform.chats.lost)
      const questions = [1, 2, 3].map(() => system.log.send(testPlatform, testPlatform.chats.lost, 'plain'))
      // Notices may be dead letters, too.
      const isUndelivered = (question: UserMessage) =>
        system.outboxDeadLetters().some(({ text }) => answeredToken(text) === tokenOf(question))
      await waitUntil(() => questions.every(isUndelivered), 15_000)
      // An operator would do the same after the access is restored.
      return async () => {
        find()
        await system.retryDeadLetters()
      }
    },
  },
  {
    name: 'duplicate events',
    durationMs: 600,
    measures: 'nothing',
    async start(testPlatform, { log }) {
      for (const chat of testPlatform.chats.busy) {
        log.send(testPlatform, chat, 'plain')
        testPlatform.repeat(chat)
      }
      return () => {
        for (const chat of testPlatform.chats.busy) testPlatform.repeat(chat)
      }
    },
  },
  {
    name: 'reordered events',
    durationMs: 500,
    measures: 'nothing',
    async start(testPlatform, { log }) {
      for (const chat of testPlatform.chats.busy) log.sendReordered(testPlatform, chat)
      return () => undefined
    },
  },
]

/** A daemon that starts during an outage of the vendor has no connection to resume. */
const outageAtStart: FaultScenario = {
  name: 'kill -9, outage at the start',
  durationMs: 4_000,
  measures: 'reconnect',
  kills: true,
  async start({ faults }, system) {
    faults.startOutage('refuse')
    await system.kill()
    await system.start()
    return () => faults.endOutage()
  },
}

const killed = { durationMs: 300, measures: 'reconnect', kills: true } as const

const crashLoop: FaultScenario = {
  name: 'crash loop, gap as long as a start',
  durationMs: 0,
  measures: 'reconnect',
  kills: true,
  start: (testPlatform, system) => startCrashLoop(testPlatform, system, [1, 0.8, 1.4, 0.9, 1.2, 1, 1.6, 1.1]),
}

/**
 * Kills about when the daemon becomes ready: the vendor stops repeating its events, and a catch-up is interrupted again and
 * again.
 *
 * @param factors the times until the kills, as multiples of the time that a start takes
 */
export async function startCrashLoop(
  testPlatform: TestPlatform,
  system: TestSystem,
  factors: readonly number[],
): Promise<EndFault> {
  await system.kill()
  // Without a delay a local server answers before the first live event arrives.
  testPlatform.faults.delay(everyCall, 100, forever)
  const from = performance.now()
  await system.start()
  await system.waitUntilConnected()
  const startMs = performance.now() - from
  await system.kill()
  const users = setInterval(() => {
    for (const chat of testPlatform.chats.busy) system.log.send(testPlatform, chat, 'plain')
  }, startMs / 8)
  try {
    for (const factor of factors) await system.startAndKill(startMs * factor)
  } finally {
    clearInterval(users)
  }
  return async () => {
    await system.start()
    await system.waitUntilConnected()
    testPlatform.faults.clear()
  }
}

const killScenarios: readonly FaultScenario[] = [
  outageAtStart,
  crashLoop,
  {
    name: 'kill -9, during the model call',
    ...killed,
    async start(testPlatform, system) {
      const one = system.log.send(testPlatform, testPlatform.chats.probe, 'plain')
      const { asked, release } = system.model.holdBack(tokenOf(one))
      await withTimeout(asked, 10_000)
      return await killDaemon(system, release)
    },
  },
  {
    name: 'kill -9, before a send',
    ...killed,
    async start(testPlatform, system) {
      const { faults, calls, chats, vendorIdOf: nameOf } = testPlatform
      const sends = () => faults.calls(({ method, chat }) => calls.send.test(method) && chat === nameOf(chats.probe))
      const before = sends()
      const release = faults.hold(calls.send)
      system.log.send(testPlatform, chats.probe, 'plain')
      await waitUntil(() => sends() > before, 10_000)
      return await killDaemon(system, release)
    },
  },
  {
    name: 'kill -9, after a send',
    ...killed,
    async start(testPlatform, system) {
      const { faults, calls, chats, sentMessages: shown } = testPlatform
      faults.dropResponse(calls.send, 3)
      const one = system.log.send(testPlatform, chats.probe, 'plain')
      await waitUntil(() => shown(chats.probe, 5).some(({ text }) => text.includes(`${tokenOf(one)}.`)), 10_000)
      return await killDaemon(system, () => faults.clear())
    },
  },
  {
    name: 'kill -9, with a visible draft',
    ...killed,
    async start(testPlatform, system) {
      const { chats, sentMessages: shown } = testPlatform
      system.log.send(testPlatform, chats.probe, 'wordy')
      await waitUntil(() => shown(chats.probe, 1).some(({ draft }) => draft), 10_000)
      return await killDaemon(system, () => undefined)
    },
  },
]

/** `release` lets the server continue. Before that, the server must have noticed that the connection is closed. */
async function killDaemon(system: TestSystem, release: () => void): Promise<EndFault> {
  await system.kill()
  await pause(50)
  release()
  return () => system.start()
}

/** Waits for the condition, or for `ms`. The proof also counts runs in which the condition was not reached. */
async function waitUntil(condition: () => boolean, ms: number): Promise<void> {
  for (const end = performance.now() + ms; !condition() && performance.now() < end; ) await pause(2)
}
