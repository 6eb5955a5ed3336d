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

const schemaVersions = {
  telemetry_schema_version: 'hermes.observer.v1',
  middleware_schema_version: 'hermes.middleware.v1',
} as const

export interface ToolCallRef {
  readonly toolName: string
  readonly toolCallId: string
}

export interface ModelRef {
  readonly provider: string
  readonly model: string
}

export function buildToolRequestPayload(
  run: CallRun,
  scope: Scope,
  names: ToolCallRef,
  args: Fields,
): ToolRequestPayload {
  return {
    ...run.fields,
    ...schemaVersions,
    scope,
    signal: run.signal,
    tool_name: names.toolName,
    tool_call_id: names.toolCallId,
    args,
    original_args: run.original,
  }
}

export function buildToolExecutionPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  names: ToolCallRef,
  args: Fields,
  next: ToolExecutionPayload['next_call'],
): ToolExecutionPayload {
  return {
    ...run.fields,
    ...schemaVersions,
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

export function buildLlmRequestPayload(
  run: CallRun,
  scope: Scope,
  names: ModelRef,
  request: Fields,
): LlmRequestPayload {
  return {
    ...run.fields,
    ...schemaVersions,
    scope,
    signal: run.signal,
    provider: names.provider,
    model: names.model,
    request,
    original_request: run.original,
  }
}

export function buildLlmExecutionPayload(
  run: CallRun,
  scope: Scope,
  signal: AbortSignal,
  names: ModelRef,
  request: Fields,
  next: LlmExecutionPayload['next_call'],
): LlmExecutionPayload {
  return {
    ...run.fields,
    ...schemaVersions,
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
