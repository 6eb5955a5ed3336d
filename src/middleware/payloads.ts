/**
 * What Hermes callbacks get: plain objects with the keys of the contract, which they may take apart or pass on.
 */
import type { CallRun } from './call-run.ts'
import type {
  Fields,
  LlmExecutionPayload,
  LlmRequestPayload,
  Scope,
  ToolExecutionPayload,
  ToolRequestPayload,
} from './contract.ts'

const schemas = {
  telemetry_schema_version: 'hermes.observer.v1',
  middleware_schema_version: 'hermes.middleware.v1',
} as const

export function toolRequestPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  toolCallId: string,
  args: Fields,
  original: Fields,
): ToolRequestPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal,
    tool_name: run.name,
    tool_call_id: toolCallId,
    args,
    original_args: original,
  }
}

export function llmRequestPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  model: string,
  request: Fields,
  original: Fields,
): LlmRequestPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal,
    provider: run.name,
    model,
    request,
    original_request: original,
  }
}

export function toolExecutionPayload(
  run: CallRun,
  payload: ToolRequestPayload,
  next: ToolExecutionPayload['next_call'],
): ToolExecutionPayload {
  return { ...payload, middleware_trace: run.trace, next_call: next }
}

export function llmExecutionPayload(
  run: CallRun,
  payload: LlmRequestPayload,
  next: LlmExecutionPayload['next_call'],
): LlmExecutionPayload {
  return { ...payload, middleware_trace: run.trace, next_call: next }
}
