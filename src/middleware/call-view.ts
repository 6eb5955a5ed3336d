/**
 * What NeMo callbacks see of a call. Signals and fields are made when they are looked at.
 */

import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Fields, ModelCallView, Scope, ToolCallView } from './contract.ts'

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
}
