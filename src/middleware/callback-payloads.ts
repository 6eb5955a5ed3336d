/**
 * What callbacks receive of a call: views for the NeMo family, payloads for Hermes' kinds.
 */
import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation.ts'
import type {
  Fields,
  LlmExecutionPayload,
  LlmRequestPayload,
  ModelCallView,
  Scope,
  ToolCallView,
  ToolExecutionPayload,
  ToolRequestPayload,
} from './contract.ts'

abstract class BaseCallView {
  readonly scope: Scope
  readonly #run: CallRun
  readonly #cancellation: CancellationScope | undefined

  constructor(run: CallRun, scope: Scope, branch: CancellationScope | undefined) {
    this.scope = scope
    this.#run = run
    this.#cancellation = branch
  }

  get signal(): AbortSignal {
    return this.#cancellation?.signal ?? this.#run.signal
  }

  get fields(): Fields {
    return this.#run.fields
  }
}

export class ToolView extends BaseCallView implements ToolCallView {
  readonly toolName: string
  readonly toolCallId: string
  readonly args: Fields

  constructor(run: CallRun, scope: Scope, branch: CancellationScope | undefined, toolCallId: string, args: Fields) {
    super(run, scope, branch)
    this.toolName = run.name
    this.toolCallId = toolCallId
    this.args = args
  }
}

export class ModelView extends BaseCallView implements ModelCallView {
  readonly provider: string
  readonly model: string
  readonly request: Fields

  constructor(run: CallRun, scope: Scope, branch: CancellationScope | undefined, model: string, request: Fields) {
    super(run, scope, branch)
    this.provider = run.name
    this.model = model
    this.request = request
  }

  get apiMode(): string {
    const apiMode = this.fields['api_mode']
    return typeof apiMode === 'string' ? apiMode : ''
  }
}

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
  const request = buildToolRequestPayload(run, scope, names, args)
  return { ...request, signal, middleware_trace: run.trace, next_call: next }
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
  const payload = buildLlmRequestPayload(run, scope, names, request)
  return { ...payload, signal, middleware_trace: run.trace, next_call: next }
}
