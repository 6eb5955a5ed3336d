/**
 * What handlers may ask of the gateway while they run: `gateway.send` and `gateway.startAgent`.
 */
import { z } from 'zod'
import type { ServeRequest } from '../hosts/contract.ts'

export interface ServicesForHooks {
  /**
   * Stores a message; it is sent even if the gateway ends right now.
   * @param target `<platform>` for its home channel, or `<platform>:<chat_id>[:<thread_id>]`
   * Rejects with a sentence for whoever wrote the hook.
   */
  send(hook: string, target: string, text: string): Promise<void>
  /** Starts the agent in a session of its own; resolves at once with the id of the task. Rejects as `send`. */
  startAgent(hook: string, prompt: string, options: StartAgentOptions): Promise<string>
}

export interface StartAgentOptions {
  readonly maxIterations?: number | undefined
  /** Where the answer goes, as the target of `send`. */
  readonly deliver?: string | undefined
  readonly route?: string | undefined
}

const optionsShape = z
  .strictObject({
    maxIterations: z.int().min(1).max(1_000).optional(),
    deliver: z.string().min(1).optional(),
    route: z.string().min(1).optional(),
  })
  .nullish()

/** Refuses what is asked for in a wrong way, with a sentence for whoever wrote the hook. */
export function serveHooks(services: ServicesForHooks): ServeRequest {
  return async ({ module, method, args }) => {
    const [first, second] = args
    switch (method) {
      case 'send': {
        await services.send(module, textIn('send', 'target', first), textIn('send', 'text', second))
        return { success: true }
      }
      case 'startAgent': {
        const options = optionsShape.safeParse(second)
        if (!options.success) throw new TypeError(`startAgent: ${problemsOf(options.error)}`)
        return await services.startAgent(module, textIn('startAgent', 'prompt', first), options.data ?? {})
      }
      default:
        throw new TypeError(`gateway has no ${method}; it has send and startAgent`)
    }
  }
}

function textIn(method: string, what: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new TypeError(`${method}: expected a text as ${what}, found ${value === '' ? 'an empty one' : typeof value}`)
}

function problemsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'options'}: ${message}`).join('; ')
}
