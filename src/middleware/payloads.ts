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

export interface ToolNames {
  readonly toolName: string
  readonly toolCallId: string
}

export interface ModelNames {
  readonly provider: string
  readonly model: string
}

export function toolRequestPayload(run: CallRun, scope: Scope, names: ToolNames, args: Fields): ToolRequestPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal: run.signal,
    tool_name: names.toolName,
    tool_call_id: names.toolCallId,
    args,
    original_args: run.original,
  }
}

export function toolExecutionPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  names: ToolNames,
  args: Fields,
  next: ToolExecutionPayload['next_call'],
): ToolExecutionPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal,
    tool_name: names.toolName,
    tool_call_id: names.toolCallId,
    args,
    original_args: run.original,
    middleware_trace: run.trace,
    next_call: next,
  }
}

export function llmRequestPayload(run: CallRun, scope: Scope, names: ModelNames, request: Fields): LlmRequestPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal: run.signal,
    provider: names.provider,
    model: names.model,
    request,
    original_request: run.original,
  }
}

export function llmExecutionPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  names: ModelNames,
  request: Fields,
  next: LlmExecutionPayload['next_call'],
): LlmExecutionPayload {
  return {
    ...run.fields,
    ...schemas,
    scope,
    signal,
    provider: names.provider,
    model: names.model,
    request,
    original_request: run.original,
    middleware_trace: run.trace,
    next_call: next,
  }
}
