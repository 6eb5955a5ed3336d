/**
 * What NeMo callbacks see of a call. Signals and fields are made when they are looked at.
 */
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import type { Fields, ModelCallView, Scope, ToolCallView } from './contract.ts'

abstract class View {
  readonly scope: Scope
  readonly #run: CallRun
  readonly #branch: Branch | undefined

  constructor(run: CallRun, scope: Scope, branch: Branch | undefined) {
    this.scope = scope
    this.#run = run
    this.#branch = branch
  }

  get signal(): AbortSignal {
    return this.#branch?.signal ?? this.#run.signal
  }

  get fields(): Fields {
    return this.#run.fields
  }
}

export class ToolView extends View implements ToolCallView {
  readonly toolName: string
  readonly toolCallId: string
  readonly args: Fields

  constructor(run: CallRun, scope: Scope, branch: Branch | undefined, toolCallId: string, args: Fields) {
    super(run, scope, branch)
    this.toolName = run.name
    this.toolCallId = toolCallId
    this.args = args
  }
}

export class ModelView extends View implements ModelCallView {
  readonly provider: string
  readonly model: string
  readonly request: Fields

  constructor(run: CallRun, scope: Scope, branch: Branch | undefined, model: string, request: Fields) {
    super(run, scope, branch)
    this.provider = run.name
    this.model = model
    this.request = request
  }
}
