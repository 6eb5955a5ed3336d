/**
 * Combines the results of several plugins into one (contract §2.6, seeds 001 and 003). A result of the wrong shape is
 * ignored and reported with the shape that was expected.
 */
import { isRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { createWarnOnce } from '../../lib/warn-once.ts'
import type { HookResult } from '../hooks/plugin-hooks.ts'

type Fields = Readonly<Record<string, unknown>>

/** Called for each result that is ignored. */
export type OnInvalidResult = (owner: string, expected: string) => void

/** The reporter for the results of one hook. */
export type OnInvalidResultOf = (hookName: string) => OnInvalidResult

/** Logs each kind of invalid result once per plugin and hook. */
export function createInvalidResultLog(log: Logger): OnInvalidResultOf {
  const warnOnce = createWarnOnce(log)
  return (hookName) => (owner, expected) =>
    warnOnce(
      `${owner}\n${hookName}\n${expected}`,
      { event: 'plugin.invalid_result', plugin: owner, hook: hookName, reason: expected },
      'the result of a plugin hook has the wrong shape and is ignored',
    )
}

/** The first text, or undefined. */
export function firstText(results: readonly HookResult[], onInvalidResult: OnInvalidResult): string | undefined {
  for (const { owner, value } of results) {
    if (typeof value === 'string') return value
    onInvalidResult(owner, 'expected a text')
  }
  return undefined
}

export function firstNonEmptyText(
  results: readonly HookResult[],
  onInvalidResult: OnInvalidResult,
): string | undefined {
  return firstText(
    results.filter(({ value }) => value !== ''),
    onInvalidResult,
  )
}

/** Joined by blank lines and ordered by plugin id, so that the order of loading does not change the prompt. */
export function joinContexts(results: readonly HookResult[], onInvalidResult: OnInvalidResult): string {
  const ordered = results.toSorted((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : 0))
  return ordered
    .map(({ owner, value }) => {
      const context = isRecord(value) ? value['context'] : value
      if (typeof context === 'string') return context
      // A callback that only observes may return an object without a context.
      if (context !== undefined && context !== null) onInvalidResult(owner, 'expected a text or { context: text }')
      return ''
    })
    .filter((context) => context !== '')
    .join('\n\n')
}

/** All overrides; later ones take precedence. Undefined without an override. */
export function mergeOverrides(results: readonly HookResult[], onInvalidResult: OnInvalidResult): Fields | undefined {
  let merged: Fields | undefined
  for (const result of results) {
    const override = parseOverride(result, isRecord, 'an object', onInvalidResult)
    if (override !== undefined) merged = { ...merged, ...override }
  }
  return merged
}

export function firstOverride(results: readonly HookResult[], onInvalidResult: OnInvalidResult): Fields | undefined {
  for (const result of results) {
    const override = parseOverride(result, isRecord, 'an object', onInvalidResult)
    if (override !== undefined) return override
  }
  return undefined
}

/** The first list of objects. */
export function firstList(
  results: readonly HookResult[],
  onInvalidResult: OnInvalidResult,
): readonly Fields[] | undefined {
  for (const result of results) {
    const override = parseOverride(result, isListOfRecords, 'a list of objects', onInvalidResult)
    if (override !== undefined) return override
  }
  return undefined
}

function isListOfRecords(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isRecord)
}

function parseOverride<Value>(
  { owner, value }: HookResult,
  isValid: (value: unknown) => value is Value,
  expected: string,
  onInvalidResult: OnInvalidResult,
): Value | undefined {
  const override = isRecord(value) ? value['override'] : undefined
  if (isValid(override)) return override
  if (!isRecord(value) || (override !== undefined && override !== null))
    onInvalidResult(owner, `expected { override: ${expected} }`)
  return undefined
}
