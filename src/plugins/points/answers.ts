/**
 * How the answers of several plugins become one (contract §2.6, seeds 001 and 003). Pure; answers that make no sense are
 * handed to `misfit`, with what was expected.
 */

import { isRecord } from '../../lib/record.ts'
import type { HookAnswer } from '../hooks/hooks.ts'

type Fields = Readonly<Record<string, unknown>>

/** Told of each answer that is ignored. */
export type Misfit = (owner: string, expected: string) => void

/** The first text; undefined when there is none. */
export function firstText(answers: readonly HookAnswer[], misfit: Misfit): string | undefined {
  for (const { owner, value } of answers) {
    if (typeof value === 'string') return value
    misfit(owner, 'expected a text')
  }
  return undefined
}

/** The first text that is not empty. */
export function firstFullText(answers: readonly HookAnswer[], misfit: Misfit): string | undefined {
  return firstText(
    answers.filter(({ value }) => value !== ''),
    misfit,
  )
}

/** Joined by blank lines, in the order of the plugins' directories, whatever the order in which they were loaded. */
export function joinedContexts(answers: readonly HookAnswer[], misfit: Misfit): string {
  const ordered = answers.toSorted((one, other) => (one.owner < other.owner ? -1 : one.owner > other.owner ? 1 : 0))
  return ordered
    .map(({ owner, value }) => {
      const context = isRecord(value) ? value['context'] : value
      if (typeof context === 'string') return context
      // A dict without a context is how a callback that only watches may end.
      if (context !== undefined && context !== null) misfit(owner, 'expected a text or { context: text }')
      return ''
    })
    .filter((context) => context !== '')
    .join('\n\n')
}

/** All overrides, later ones over earlier ones; undefined when there is none. */
export function mergedOverride(answers: readonly HookAnswer[], misfit: Misfit): Fields | undefined {
  let merged: Fields | undefined
  for (const answer of answers) {
    const override = overrideIn(answer, isRecord, 'an object', misfit)
    if (override !== undefined) merged = { ...merged, ...override }
  }
  return merged
}

export function firstOverride(answers: readonly HookAnswer[], misfit: Misfit): Fields | undefined {
  for (const answer of answers) {
    const override = overrideIn(answer, isRecord, 'an object', misfit)
    if (override !== undefined) return override
  }
  return undefined
}

/** The first list of objects. */
export function firstList(answers: readonly HookAnswer[], misfit: Misfit): readonly Fields[] | undefined {
  for (const answer of answers) {
    const override = overrideIn(answer, isListOfRecords, 'a list of objects', misfit)
    if (override !== undefined) return override
  }
  return undefined
}

function isListOfRecords(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isRecord)
}

function overrideIn<Value>(
  { owner, value }: HookAnswer,
  isRight: (value: unknown) => value is Value,
  what: string,
  misfit: Misfit,
): Value | undefined {
  const override = isRecord(value) ? value['override'] : undefined
  if (isRight(override)) return override
  if (!isRecord(value) || (override !== undefined && override !== null)) misfit(owner, `expected { override: ${what} }`)
  return undefined
}
