/**
 * The managed call: the one place through which every model and tool call passes, so that plugins can see and change it.
 * With no listener the handler is called with the very same arguments: nothing is copied, nothing is wrapped.
 */
export interface ModelCallContext {
  readonly sessionId: string
  readonly turnId: string
  readonly iteration: number
  readonly attempt: number
  readonly model: string
  readonly provider: string
  readonly apiMode: string
}

export interface ToolCallContext {
  readonly sessionId: string
  readonly turnId: string
  readonly callId: string
  readonly toolName: string
}

export interface ManagedCalls {
  /** Runs a model call. Rejects as the handler rejects. */
  model<Request, Response>(
    context: ModelCallContext,
    request: Request,
    handler: (request: Request) => Promise<Response>,
  ): Promise<Response>
  /** Runs a tool call. Rejects as the handler rejects. */
  tool<Args, Result>(context: ToolCallContext, args: Args, handler: (args: Args) => Promise<Result>): Promise<Result>
}

export function createManagedCalls(): ManagedCalls {
  return {
    model: (_context, request, handler) => handler(request),
    tool: (_context, args, handler) => handler(args),
  }
}
