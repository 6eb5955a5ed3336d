/**
 * Replays recorded payloads from `test/replay/<platform>/*.json` through the normalise function of a platform, and checks
 * that no mutated payload makes it throw, hang or admit an unauthorised user.
 *
 * A file is `{"name": "a sentence", "account"?: {…options}, "payload": …, "expected": [events and changes]}`.
 * `test/replay/<platform>/subject.ts` exports the platform's `subject`; `npm run proof` finds it there.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { decideAccess } from '../../src/inbox/access.ts'
import type { ButtonPress, MessageChange } from '../../src/message/change.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionSource } from '../../src/message/source.ts'
import { type MutatedPayload, mutatedPayloads } from './mutations.ts'
import { toJsonValue } from './to-json-value.ts'

type Options = Readonly<Record<string, unknown>>
type NormalizedEvent = MessageEvent | MessageChange | ButtonPress

export interface ReplaySubject {
  /** The name of its folder. */
  readonly platform: string
  /** Pure function: the events and changes of a payload, in order; empty if it is ignored. Must not throw. */
  normalize(payload: unknown, account: Options): readonly NormalizedEvent[]
  /**
   * The user ids of the authors, read from the documented fields of the payload and without `normalize`. Other users must
   * not be admitted. Must accept any payload; see `valueAt`.
   */
  authors(payload: unknown): readonly unknown[]
  /** The only user on the allow list: an author of several payloads. */
  readonly allowed: string
}

const replayFile = z.strictObject({
  name: z.string().min(1),
  account: z.record(z.string(), z.unknown()).optional(),
  payload: z.unknown(),
  expected: z.array(z.unknown()),
})
export type ReplayCase = z.output<typeof replayFile> & { readonly file: string }

/** Reads the replay files of a folder, sorted by name. Throws if a file is invalid. */
export function readReplays(folder: string): ReplayCase[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((file) => {
      const parsed = replayFile.safeParse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
      if (!parsed.success) throw new Error(`${join(folder, file)}: ${z.prettifyError(parsed.error)}`)
      return { ...parsed.data, file }
    })
}

/** The folder with the payloads of a platform. */
export function replayFolder(platform: string): string {
  return join(import.meta.dirname, '../replay', platform)
}

export interface ReplayOptions {
  /** Number of mutated payloads. Default: 500. */
  readonly count?: number
  /** Folder of the files. Default: `test/replay/<platform>` of this repository. */
  readonly folder?: string
}

/** Registers tests of a normalise function with the payloads of a folder and mutations of them. */
export function replayContract(subject: ReplaySubject, options: ReplayOptions = {}): void {
  const { count = 500, folder = replayFolder(subject.platform) } = options
  const cases = readReplays(folder)
  describe(`replay of ${subject.platform}`, () => {
    for (const one of cases) test(one.name, () => checkReplay(subject, one))

    test('each payload has a unique name', () => {
      const names = cases.map(({ name }) => name)
      assert.deepEqual(names.toSorted(), [...new Set(names)].sort())
    })

    test(`none of ${count} mutated payloads throws or admits an unauthorised user`, (t) => {
      const report = tryPayloads(subject, cases, { seed: 20_261_121, count })
      t.diagnostic(`slowest payload: ${report.slowest.cpuMs.toFixed(1)} ms CPU (${report.slowest.what})`)
      assert.deepEqual(report.failures, [])
      // Detects hangs; `npm run proof` checks the CPU time.
      assert.ok(report.slowest.cpuMs < 5_000, `${report.slowest.what} took ${report.slowest.cpuMs} ms`)
      assert.ok(report.admitted > 0, 'no event was admitted: is `allowed` an author?')
      assert.ok(report.refused > 0, 'no event was refused')
    })
  })
}

function checkReplay(subject: ReplaySubject, { payload, account = {}, expected }: ReplayCase): void {
  const before = JSON.stringify(payload)
  const made = subject.normalize(payload, account)
  assert.deepEqual(toJsonValue(made), expected)
  assert.equal(JSON.stringify(payload), before, 'the payload was changed')
}

export interface PayloadReport {
  readonly count: number
  /** Number of events whose user was on the allow list, and of other events. */
  readonly admitted: number
  readonly refused: number
  readonly failures: readonly string[]
  readonly slowest: { readonly cpuMs: number; readonly what: string }
}

/** Runs `count` mutated payloads through a platform. */
export function tryPayloads(
  subject: ReplaySubject,
  cases: readonly ReplayCase[],
  { seed, count }: { readonly seed: number; readonly count: number },
): PayloadReport {
  const failures: string[] = []
  let slowest = { cpuMs: 0, what: 'none' }
  let admitted = 0
  let refused = 0
  const payloads = cases.map(({ payload }) => payload)
  for (const mutated of mutatedPayloads(payloads, seed, count)) {
    const { file, account = {} } = cases[mutated.sourceIndex] ?? { file: '' }
    const what = `${file}: ${mutated.mutations.join(', ')}`
    try {
      const { made, cpuMs } = timed(() => subject.normalize(mutated.payload, account))
      if (cpuMs > slowest.cpuMs) slowest = { cpuMs, what }
      for (const one of made) {
        if (!passes(sourceOf(one), subject, account, one)) refused += 1
        else if (isAuthor(subject, mutated)) admitted += 1
        else failures.push(`${what}: admitted a user who is not an author`)
      }
    } catch (error) {
      failures.push(`${what}: threw ${error instanceof Error ? error.stack : String(error)}`)
    }
  }
  return { count, admitted, refused, failures: failures.slice(0, 20), slowest }
}

/** Whether the allowed user is an author of the mutated payload. */
function isAuthor({ authors, allowed }: ReplaySubject, { payload }: MutatedPayload): boolean {
  return authors(payload).some((id) => (typeof id === 'string' || typeof id === 'number') && String(id) === allowed)
}

function passes(source: SessionSource, { allowed }: ReplaySubject, account: Options, made: NormalizedEvent): boolean {
  // If the account names roles, a role may authorise a user.
  const { roleAuthorized = false, ...rest } = source
  const known = Object.keys(account).length > 0 ? rest : { ...rest, roleAuthorized }
  return decideAccess(known, { internal: 'internal' in made && made.internal }, rulesFor(allowed)).allowed
}

function rulesFor(allowed: string) {
  return {
    access: 'allowlist' as const,
    allowFrom: [allowed],
    groupAllowFrom: [],
    groupAllowedChats: [],
    allowAllUsers: false,
    allowBots: 'none' as const,
    gatewayAllowedUsers: [],
    gatewayAllowAllUsers: false,
  }
}

function sourceOf(made: NormalizedEvent): SessionSource {
  return 'event' in made ? made.event.source : made.source
}

/** CPU time of this thread; the best of three if it is slow, to exclude garbage collection and compilation. */
function timed<T>(work: () => T): { made: T; cpuMs: number } {
  const run = () => {
    const before = process.threadCpuUsage()
    const made = work()
    const { user, system } = process.threadCpuUsage(before)
    return { made, cpuMs: (user + system) / 1_000 }
  }
  let best = run()
  for (let again = 0; again < 2 && best.cpuMs > 10; again += 1) {
    const next = run()
    if (next.cpuMs < best.cpuMs) best = next
  }
  return best
}

/** The value at a path of a payload: `valueAt(payload, 'message', 'from', 'id')`; undefined if there is none. */
export function valueAt(payload: unknown, ...path: readonly string[]): unknown {
  let value = payload
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = new Map<string, unknown>(Object.entries(value)).get(key)
  }
  return value
}
