/**
 * How a tool call ended, and the text the model reads of it.
 */
import { messageOf } from '../../lib/errors.ts'
import { asString, isRecord, parseJson } from '../../lib/json.ts'
import type { ToolResult } from '../agent-hooks.ts'

export interface ExecutedToolResult extends ToolResult {
  /** An earlier life began it, and what came of it is not known. */
  readonly interrupted: boolean
  /** Why nothing ran, in plain words; null when something did. */
  readonly rejectionReason: string | null
}

/** The tool does not run, and the model is told why. */
export class ToolRejected extends Error {
  readonly result: ExecutedToolResult

  constructor(status: 'error' | 'blocked', errorType: string, message: string) {
    super(message)
    this.name = 'ToolRejected'
    const said = { errorType, errorMessage: message, rejectionReason: message }
    this.result = { result: errorJson(message), status, ...said, durationMs: 0, interrupted: false }
  }
}

export class OutcomeUnknownError extends Error {}

const unknownOutcomeText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

const toolEffectNotice =
  '(That came after the tool itself had done its work: look at what it did before you repeat it.)'

export function unknownOutcome(): ExecutedToolResult {
  return { ...new ToolRejected('error', 'interrupted', unknownOutcomeText).result, interrupted: true }
}

/**
 * @param toolOutput what the tool itself returned; what a plugin returned in its place may be anything. Throws what JSON throws.
 */
export function toExecutedResult(
  value: unknown,
  toolOutput: string | undefined,
  durationMs: number,
  sanitizeForModel: (result: string) => string,
): ExecutedToolResult {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
  const result = text === toolOutput ? text : sanitizeForModel(text)
  const base = { result, durationMs, interrupted: false, rejectionReason: null }
  if (!result.startsWith('{"error"')) return { ...base, status: 'ok', errorType: null, errorMessage: null }
  return { ...base, status: 'error', errorType: 'tool_error', errorMessage: errorMessageIn(result) }
}

function errorMessageIn(result: string): string {
  const parsed = parseJson(result)
  return isRecord(parsed) ? asString(parsed['error']) || result : result
}

/**
 * Something was thrown on the way.
 * @param origin who threw it, if it was not the tool: the model must not take the tool for broken
 * @param hadEffect the tool has had its effect before that: the model must not try it again
 */
export function failedResult(
  error: unknown,
  origin: string | null,
  hadEffect: boolean,
  durationMs: number,
): ExecutedToolResult & { readonly errorMessage: string } {
  const errorMessage = origin === null ? messageOf(error) : `${origin} failed: ${messageOf(error)}`
  return {
    result: errorJson(hadEffect ? `${errorMessage.slice(0, 1_500)} ${toolEffectNotice}` : errorMessage),
    status: 'error',
    errorType: error instanceof Error && typeof error.name === 'string' ? error.name : 'Error',
    errorMessage,
    durationMs,
    interrupted: false,
    rejectionReason: null,
  }
}

function errorJson(text: string): string {
  return JSON.stringify({ error: text.slice(0, 2_048).toWellFormed() })
}
