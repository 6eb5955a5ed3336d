/**
 * What handlers may ask of the gateway while they run: `gateway.send` and `gateway.startAgent`.
 */
import { z } from 'zod'
import type { HostRequestHandler } from '../hosts/contract.ts'

export interface HookGatewayServices {
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

const startAgentOptionsSchema = z
  .strictObject({
    maxIterations: z.int().min(1).max(1_000).optional(),
    deliver: z.string().min(1).optional(),
    route: z.string().min(1).optional(),
  })
  .nullish()

/** Refuses what is asked for in a wrong way, with a sentence for whoever wrote the hook. */
export function createHookRequestHandler(services: HookGatewayServices): HostRequestHandler {
  return async ({ module, method, args }) => {
    const [first, second] = args
    switch (method) {
      case 'send': {
        await services.send(module, requireText('send', 'target', first), requireText('send', 'text', second))
        return { success: true }
      }
      case 'startAgent': {
        const options = startAgentOptionsSchema.safeParse(second)
        if (!options.success) throw new TypeError(`startAgent: ${formatIssues(options.error)}`)
        return await services.startAgent(module, requireText('startAgent', 'prompt', first), options.data ?? {})
      }
      default:
        throw new TypeError(`gateway has no ${method}; it has send and startAgent`)
    }
  }
}

function requireText(method: string, what: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new TypeError(`${method}: expected a text as ${what}, found ${value === '' ? 'an empty one' : typeof value}`)
}

function formatIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'options'}: ${message}`).join('; ')
}
