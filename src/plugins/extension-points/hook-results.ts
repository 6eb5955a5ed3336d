/**
 * How the answers of several plugins become one (contract §2.6, seeds 001 and 003). Pure; answers that make no sense are
 * handed to `misfit`, with what was expected.
 */

import { isRecord } from '../../lib/json.ts'
import type { HookResult } from '../hooks/plugin-hooks.ts'

type Fields = Readonly<Record<string, unknown>>

/** Told of each answer that is ignored. */
export type OnInvalidResult = (owner: string, expected: string) => void

/** The first text; undefined when there is none. */
export function firstText(results: readonly HookResult[], onInvalidResult: OnInvalidResult): string | undefined {
  for (const { owner, value } of results) {
    if (typeof value === 'string') return value
    onInvalidResult(owner, 'expected a text')
  }
  return undefined
}

/** The first text that is not empty. */
export function firstNonEmptyText(
  results: readonly HookResult[],
  onInvalidResult: OnInvalidResult,
): string | undefined {
  return firstText(
    results.filter(({ value }) => value !== ''),
    onInvalidResult,
  )
}

/** Joined by blank lines, in the order of the plugins' directories, whatever the order in which they were loaded. */
export function joinContexts(results: readonly HookResult[], onInvalidResult: OnInvalidResult): string {
  const ordered = results.toSorted((one, other) => (one.owner < other.owner ? -1 : one.owner > other.owner ? 1 : 0))
  return ordered
    .map(({ owner, value }) => {
      const context = isRecord(value) ? value['context'] : value
      if (typeof context === 'string') return context
      // A dict without a context is how a callback that only watches may end.
      if (context !== undefined && context !== null) onInvalidResult(owner, 'expected a text or { context: text }')
      return ''
    })
    .filter((context) => context !== '')
    .join('\n\n')
}

/** All overrides, later ones over earlier ones; undefined when there is none. */
export function mergeOverrides(results: readonly HookResult[], onInvalidResult: OnInvalidResult): Fields | undefined {
  let merged: Fields | undefined
  for (const answer of results) {
    const override = parseOverride(answer, isRecord, 'an object', onInvalidResult)
    if (override !== undefined) merged = { ...merged, ...override }
  }
  return merged
}

export function firstOverride(results: readonly HookResult[], onInvalidResult: OnInvalidResult): Fields | undefined {
  for (const answer of results) {
    const override = parseOverride(answer, isRecord, 'an object', onInvalidResult)
    if (override !== undefined) return override
  }
  return undefined
}

/** The first list of objects. */
export function firstList(
  results: readonly HookResult[],
  onInvalidResult: OnInvalidResult,
): readonly Fields[] | undefined {
  for (const answer of results) {
    const override = parseOverride(answer, isListOfRecords, 'a list of objects', onInvalidResult)
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
  what: string,
  onInvalidResult: OnInvalidResult,
): Value | undefined {
  const override = isRecord(value) ? value['override'] : undefined
  if (isValid(override)) return override
  if (!isRecord(value) || (override !== undefined && override !== null))
    onInvalidResult(owner, `expected { override: ${what} }`)
  return undefined
}
