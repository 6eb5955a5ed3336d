/**
 * The faults of a chat platform in this proof with their durations. Each fault returns a function that ends it. The
 * effect on the daemon is measured elsewhere.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { RateWindow } from '../../kit/servers/rate-window.ts'
import { tokenOf } from '../tally.ts'
import type { Stage } from './stage.ts'
import type { World } from './world.ts'

export interface Trouble {
  readonly name: string
  /** From its start to its end, ms. */
  readonly lastsMs: number
  /**
   * The meaning of the time from its end to the first answer: the duration of a reconnect (`reconnect`), the time
   * until a silent connection is detected (`noticed`: the fault ends only after an answer), or nothing.
   */
  readonly measures: 'reconnect' | 'noticed' | 'nothing'
  /** The fault affects the whole daemon, and with it the other platforms. */
  readonly kills?: true
  /** Starts the fault and resolves with a function that ends it. */
  begin(stage: Stage, world: World): Promise<End>
}

/** The calls that the platform received after a rate limit. */
export type Limit = Pick<RateWindow, 'earlyCalls' | 'lateMs'>

export type End = () => void | Promise<void>

/** All faults of this platform. `limits` collects the rate limits that were set. */
export function troublesOf(stage: Stage, limits: Limit[]): Trouble[] {
  return [
    ...absences,
    ...answers,
    ...limitsOf(limits),
    ...messages,
    ...stage.own.map(({ name, lastsMs, begin }) => ({ name, lastsMs, measures: 'reconnect' as const, begin })),
    ...kills,
  ]
}

const everyCall = /./
const forever = Number.POSITIVE_INFINITY

const absences: readonly Trouble[] = [
  away('connection reset', 'cut', 2_000),
  away('nobody listens', 'refuse', 2_000),
  away('half-open, then reset', 'silent', 2_500),
  {
    name: 'half-open for good',
    lastsMs: 0,
    measures: 'noticed',
    async begin({ faults }) {
      return faults.freezeConnections()
    },
  },
]

function away(name: string, how: 'cut' | 'refuse' | 'silent', lastsMs: number): Trouble {
  return {
    name,
    lastsMs,
    measures: 'reconnect',
    async begin({ faults }) {
      faults.startOutage(how)
      return () => faults.endOutage()
    },
  }
}

const answers: readonly Trouble[] = [
  {
    name: '5xx',
    lastsMs: 2_000,
    measures: 'reconnect',
    async begin({ faults, answers: { broken } }) {
      faults.respond(everyCall, broken, forever)
      return () => faults.clear()
    },
  },
  {
    name: '401',
    lastsMs: 1_500,
    measures: 'reconnect',
    async begin({ platform, faults, answers: { unauthorised } }, { reconfigure }) {
      faults.respond(everyCall, unauthorised, forever)
      return async () => {
        faults.clear()
        await reconfigure(platform)
      }
    },
  },
  {
    name: 'slow responses',
    lastsMs: 2_500,
    measures: 'nothing',
    async begin({ faults }) {
      faults.delay(everyCall, 800, forever)
      return () => faults.clear()
    },
  },
  {
    name: 'answers to sends lost',
    lastsMs: 1_500,
    measures: 'nothing',
    async begin({ faults, calls }) {
      faults.dropResponse(calls.send, 4)
      return () => faults.clear()
    },
  },
  {
    name: 'not modified',
    lastsMs: 1_500,
    measures: 'nothing',
    async begin(stage, { talk }) {
      const { faults, calls, chats } = stage
      faults.dropResponse(calls.edit, 4)
      for (const chat of chats.busy) talk.ask(stage, chat, 'wordy')
      return () => faults.clear()
    },
  },
]

function limitsOf(limits: Limit[]): Trouble[] {
  const ms = 2_000
  return [
    {
      name: '429 storm, one chat',
      lastsMs: 2 * ms,
      measures: 'nothing',
      async begin({ faults, calls: { counted }, chats: { busy }, nameOf }) {
        limits.push(faults.limit({ on: counted, chat: nameOf(busy[0] ?? ''), ms, windows: 2 }))
        return () => undefined
      },
    },
    {
      name: '429 storm, everywhere',
      lastsMs: 2 * ms,
      measures: 'nothing',
      async begin({ faults, calls: { counted }, chats, nameOf, tellsScope }) {
        const limit = (chat?: string) => {
          const where = chat === undefined ? { scope: 'account' as const } : { chat: nameOf(chat) }
          return faults.limit({ on: counted, ms, windows: 2, ...where })
        }
        limits.push(tellsScope ? limit() : together(chats.busy.map(limit)))
        return () => undefined
      },
    },
  ]
}

/**
 * Without an account scope each chat gets its own rate limit, and may wait for the others. Therefore the first call
 * after the last of these limits counts.
 */
function together(windows: readonly RateWindow[]): Limit {
  return {
    earlyCalls: () => windows.reduce((sum, window) => sum + window.earlyCalls(), 0),
    lateMs() {
      const all = windows.map((window) => window.lateMs())
      const rounds = Math.min(...all.map(({ length }) => length))
      return Array.from({ length: rounds }, (_, round) => Math.min(...all.map((late) => late[round] ?? Number.NaN)))
    },
  }
}

const messages: readonly Trouble[] = [
  {
    name: 'message too long',
    lastsMs: 500,
    measures: 'nothing',
    async begin(stage, { talk }) {
      for (const chat of stage.chats.busy) talk.ask(stage, chat, 'long')
      return () => undefined
    },
  },
  {
    name: 'chat gone',
    lastsMs: 0,
    measures: 'nothing',
    async begin(stage, world) {
      const find = stage.lose(stage.chats.lost)
      const asked = [1, 2, 3].map(() => world.talk.ask(stage, stage.chats.lost, 'plain'))
      const givenUp = () => world.deadLetters().filter(({ platform }) => platform === stage.platform)
      await until(() => givenUp().length >= asked.length, 15_000)
      // As an operator would after the access is restored.
      return async () => {
        find()
        await world.retryDead()
      }
    },
  },
  {
    name: 'duplicate events',
    lastsMs: 600,
    measures: 'nothing',
    async begin(stage, { talk }) {
      for (const chat of stage.chats.busy) {
        talk.ask(stage, chat, 'plain')
        stage.repeat(chat)
      }
      return () => {
        for (const chat of stage.chats.busy) stage.repeat(chat)
      }
    },
  },
  {
    name: 'reordered events',
    lastsMs: 500,
    measures: 'nothing',
    async begin(stage, { talk }) {
      for (const chat of stage.chats.busy) talk.askReordered(stage, chat)
      return () => undefined
    },
  },
]

/** A daemon that starts during an outage of the vendor has no connection to resume. */
const absentAtTheStart: Trouble = {
  name: 'kill -9, nobody listens at the start',
  lastsMs: 4_000,
  measures: 'reconnect',
  kills: true,
  async begin({ faults }, world) {
    faults.startOutage('refuse')
    await world.kill()
    await world.start()
    return () => faults.endOutage()
  },
}

const killed = { lastsMs: 300, measures: 'reconnect', kills: true } as const

const kills: readonly Trouble[] = [
  absentAtTheStart,
  {
    name: 'kill -9, the model thinks',
    ...killed,
    async begin(stage, world) {
      const one = world.talk.ask(stage, stage.chats.probe, 'plain')
      const { asked, release } = world.model.holdBack(tokenOf(one))
      await withTimeout(asked, 10_000)
      return await killNow(world, release)
    },
  },
  {
    name: 'kill -9, before a send',
    ...killed,
    async begin(stage, world) {
      const { faults, calls, chats, nameOf } = stage
      const sends = () => faults.calls(({ method, chat }) => calls.send.test(method) && chat === nameOf(chats.probe))
      const before = sends()
      const release = faults.hold(calls.send)
      world.talk.ask(stage, chats.probe, 'plain')
      await until(() => sends() > before, 10_000)
      return await killNow(world, release)
    },
  },
  {
    name: 'kill -9, after a send',
    ...killed,
    async begin(stage, world) {
      const { faults, calls, chats, shown } = stage
      faults.dropResponse(calls.send, 3)
      const one = world.talk.ask(stage, chats.probe, 'plain')
      await until(() => shown(chats.probe, 5).some(({ text }) => text.includes(`${tokenOf(one)}.`)), 10_000)
      return await killNow(world, () => faults.clear())
    },
  },
  {
    name: 'kill -9, a draft shows',
    ...killed,
    async begin(stage, world) {
      const { chats, shown } = stage
      world.talk.ask(stage, chats.probe, 'wordy')
      await until(() => shown(chats.probe, 1).some(({ draft }) => draft), 10_000)
      return await killNow(world, () => undefined)
    },
  },
]

/** `release` lets the server continue. Before that, the server must have noticed that the connection is closed. */
async function killNow(world: World, release: () => void): Promise<End> {
  await world.kill()
  await pause(50)
  release()
  return () => world.start()
}

/** Waits for the condition, or for `ms`. The proof also counts runs in which the condition was not reached. */
async function until(isSo: () => boolean, ms: number): Promise<void> {
  for (const end = performance.now() + ms; !isSo() && performance.now() < end; ) await pause(2)
}
