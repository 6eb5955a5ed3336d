/**
 * Payloads as a platform sends them, from `test/replay/<platform>/*.json`, through its normalise function: what it must
 * make of each, and that no payload at all makes it throw, hang, or let somebody in.
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

type Options = Readonly<Record<string, unknown>>
type NormalizedEvent = MessageEvent | MessageChange | ButtonPress

export interface ReplaySubject {
  /** As its folder says it. */
  readonly platform: string
  /** The pure function: what would be handed in for this payload, in order; nothing where it is ignored. Never throws. */
  normalize(payload: unknown, account: Options): readonly NormalizedEvent[]
  /**
   * The ids of whoever wrote or did it, read from the payload as the platform documents it and without `normalise`: what
   * is not in this list must not be let in. Must bear any payload; see `valueAt`.
   */
  authors(payload: unknown): readonly unknown[]
  /** The one person on the allow list: an author of several payloads. */
  readonly allowed: string
}

const replayFile = z.strictObject({
  name: z.string().min(1),
  account: z.record(z.string(), z.unknown()).optional(),
  payload: z.unknown(),
  expected: z.array(z.unknown()),
})
export type ReplayCase = z.output<typeof replayFile> & { readonly file: string }

/** The files of a folder by name. Throws where one is no replay. */
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

/** Where the payloads of a platform lie. */
export function replayFolder(platform: string): string {
  return join(import.meta.dirname, '../replay', platform)
}

export interface ReplayOptions {
  /** Strange payloads; 500. */
  readonly count?: number
  /** Where the files lie; `test/replay/<platform>` of this repository. */
  readonly folder?: string
}

/** Tests of a platform's normalise function: each payload of its folder, and payloads made of them. */
export function replayContract(subject: ReplaySubject, options: ReplayOptions = {}): void {
  const { count = 500, folder = replayFolder(subject.platform) } = options
  const cases = readReplays(folder)
  describe(`what comes from ${subject.platform}`, () => {
    for (const one of cases) test(one.name, () => checkReplay(subject, one))

    test('each payload has a name of its own', () => {
      const names = cases.map(({ name }) => name)
      assert.deepEqual(names.toSorted(), [...new Set(names)].sort())
    })

    test(`of ${count} strange payloads none makes it fail, or lets in who may not`, (t) => {
      const report = tryPayloads(subject, cases, { seed: 20_261_121, count })
      t.diagnostic(`slowest payload: ${report.slowest.cpuMs.toFixed(1)} ms CPU (${report.slowest.what})`)
      assert.deepEqual(report.failures, [])
      // Not a bar, which `npm run proof` holds: a hang.
      assert.ok(report.slowest.cpuMs < 5_000, `${report.slowest.what} took ${report.slowest.cpuMs} ms`)
      assert.ok(report.admitted > 0, 'nobody was let in at all: is `allowed` an author?')
      assert.ok(report.refused > 0, 'nobody was refused at all')
    })
  })
}

function checkReplay(subject: ReplaySubject, { payload, account = {}, expected }: ReplayCase): void {
  const before = JSON.stringify(payload)
  const made = subject.normalize(payload, account)
  assert.deepEqual(made, expected)
  assert.equal(JSON.stringify(payload), before, 'the payload was changed')
}

export interface PayloadReport {
  readonly count: number
  /** Events whose author was on the list, and those whose was not. */
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
        else failures.push(`${what}: let in somebody who did not write it`)
      }
    } catch (error) {
      failures.push(`${what}: threw ${error instanceof Error ? error.stack : String(error)}`)
    }
  }
  return { count, admitted, refused, failures: failures.slice(0, 20), slowest }
}

/** Somebody is let in although a mutation took the author away, or wrote another one. */
function isAuthor({ authors, allowed }: ReplaySubject, { payload }: MutatedPayload): boolean {
  return authors(payload).some((id) => (typeof id === 'string' || typeof id === 'number') && String(id) === allowed)
}

function passes(source: SessionSource, { allowed }: ReplaySubject, account: Options, made: NormalizedEvent): boolean {
  // Where the account names roles, a role is a right of its own.
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

/** The CPU time of this thread, at best of three where it looks slow: garbage is collected and code compiled now and then. */
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

/** What stands at a path of a payload: `valueAt(payload, 'message', 'from', 'id')`; undefined where there is none. */
export function valueAt(payload: unknown, ...path: readonly string[]): unknown {
  let value = payload
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = new Map<string, unknown>(Object.entries(value)).get(key)
  }
  return value
}
