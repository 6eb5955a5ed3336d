/**
 * How a tool call ended, and the text the model reads of it.
 */
import { messageOf } from '../lib/errors.ts'
import type { ToolEnding } from './points.ts'
import { isRecord, parseJson, str } from './providers/json.ts'

export interface Ended extends ToolEnding {
  /** An earlier life began it, and what came of it is not known. */
  readonly interrupted: boolean
  /** Why nothing ran, in plain words; null when something did. */
  readonly refusal: string | null
}

/** The tool does not run, and the model is told why. */
export class Refused extends Error {
  readonly ending: Ended

  constructor(status: 'error' | 'blocked', errorType: string, message: string) {
    super(message)
    this.name = 'Refused'
    const said = { errorType, errorMessage: message, refusal: message }
    this.ending = { result: errorResult(message), status, ...said, durationMs: 0, interrupted: false }
  }
}

export class OutcomeUnknown extends Error {}

const interruptedText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

const isDoneText = '(That came after the tool itself had done its work: look at what it did before you repeat it.)'

export function unknown(): Ended {
  return { ...new Refused('error', 'interrupted', interruptedText).ending, interrupted: true }
}

/**
 * @param own what the tool itself returned; what a plugin returned in its place may be anything. Throws what JSON throws.
 */
export function returned(
  value: unknown,
  own: string | undefined,
  durationMs: number,
  presentable: (result: string) => string,
): Ended {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
  const result = text === own ? text : presentable(text)
  const base = { result, durationMs, interrupted: false, refusal: null }
  if (!result.startsWith('{"error"')) return { ...base, status: 'ok', errorType: null, errorMessage: null }
  return { ...base, status: 'error', errorType: 'tool_error', errorMessage: errorIn(result) }
}

function errorIn(result: string): string {
  const parsed = parseJson(result)
  return isRecord(parsed) ? str(parsed['error']) || result : result
}

/**
 * Something was thrown on the way.
 * @param culprit who threw it, if it was not the tool: the model must not take the tool for broken
 * @param isDone the tool has had its effect before that: the model must not try it again
 */
export function failure(
  error: unknown,
  culprit: string | null,
  isDone: boolean,
  durationMs: number,
): Ended & { readonly errorMessage: string } {
  const errorMessage = culprit === null ? messageOf(error) : `${culprit} failed: ${messageOf(error)}`
  return {
    result: errorResult(isDone ? `${errorMessage.slice(0, 1_500)} ${isDoneText}` : errorMessage),
    status: 'error',
    errorType: error instanceof Error && typeof error.name === 'string' ? error.name : 'Error',
    errorMessage,
    durationMs,
    interrupted: false,
    refusal: null,
  }
}

function errorResult(text: string): string {
  return JSON.stringify({ error: text.slice(0, 2_048).toWellFormed() })
}
