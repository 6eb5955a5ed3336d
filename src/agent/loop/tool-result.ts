/**
 * The results of tool calls and their texts for the model.
 */
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { asString, isRecord, parseJson } from '../../lib/json.ts'
import { beginningOf } from '../../lib/redact.ts'
import type { ToolResult } from '../support/agent-hooks.ts'

export interface ExecutedToolResult extends ToolResult {
  /** The call was started before a crash, and its outcome is unknown. */
  readonly interrupted: boolean
  /** Why the tool did not run; null when it ran. */
  readonly rejectionReason: string | null
}

/** The tool does not run. The message is for the model. */
export class ToolRejected extends Error {
  readonly result: ExecutedToolResult

  constructor(status: 'error' | 'blocked', errorType: string, message: string) {
    super(message)
    this.name = 'ToolRejected'
    this.result = {
      result: errorJson(message, errorType === 'not_allowed_for_role' ? errorType : undefined),
      status,
      errorType,
      errorMessage: message,
      rejectionReason: message,
      durationMs: 0,
      interrupted: false,
    }
  }
}

export class OutcomeUnknownError extends Error {}

const unknownOutcomeText =
  'Interrupted, outcome unknown: the gateway stopped while this ran, and it was not run again. Find out what it did before you repeat it.'

const toolEffectNotice = '(This error occurred after the tool had finished: check what it did before you repeat it.)'

export function unknownOutcome(): ExecutedToolResult {
  return { ...new ToolRejected('error', 'interrupted', unknownOutcomeText).result, interrupted: true }
}

/**
 * @param value the result of the call; a plugin may have replaced it by any value. Throws if that is not serialisable.
 * @param toolOutput what the tool itself returned
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
 * @param origin the plugin that threw the error, or null for the tool: the model must not assume that the tool is broken
 * @param hadEffect the tool had its effect before the error: the model must not repeat the call without a check
 */
export function failedResult(
  error: unknown,
  origin: string | null,
  hadEffect: boolean,
  durationMs: number,
): ExecutedToolResult & { readonly errorMessage: string } {
  const errorMessage = origin === null ? messageOf(error) : `${origin} failed: ${messageOf(error)}`
  // The person in the chat learns what to do about an environment that cannot be reached.
  const environmentError = isHermesError(error) && error.code.startsWith('environment/') ? error : undefined
  const text = environmentError === undefined ? errorMessage : `${errorMessage} ${environmentError.hint}`
  return {
    result: errorJson(hadEffect ? `${beginningOf(text, 1_500)} ${toolEffectNotice}` : text, environmentError?.code),
    status: 'error',
    errorType: error instanceof Error && typeof error.name === 'string' ? error.name : 'Error',
    errorMessage,
    durationMs,
    interrupted: false,
    rejectionReason: null,
  }
}

/** @param code for the model, where it must recognise the kind of refusal */
function errorJson(text: string, code?: string): string {
  return JSON.stringify({ error: beginningOf(text, 2_048), code })
}
