/**
 * The gateway functions that handlers may call while they run: `gateway.send` and `gateway.startAgent`.
 */
import { z } from 'zod'
import type { HostRequestHandler } from '../hosts/contract.ts'
import type { Role } from '../message/authority.ts'

export interface HookGatewayServices {
  /**
   * Stores a message in the outbox, so that it is sent even if the gateway stops. Rejects with a message for the author of
   * the hook.
   * @param target `<platform>` for its home channel, or `<platform>:<chat_id>[:<thread_id>]`
   */
  send(hook: string, target: string, text: string): Promise<void>
  /** Starts the agent in a session of its own and resolves with the id of the task. Rejects like `send`. */
  startAgent(hook: string, prompt: string, options: StartAgentOptions, payload: HookPayload): Promise<string>
}

export interface StartAgentOptions {
  readonly maxIterations?: number | undefined
  /** The target of the reply, as in `send`. */
  readonly deliver?: string | undefined
  readonly route?: string | undefined
  /** The ceiling of the task. Absent: that of the person whose event the hook handles; owner for an event of the gateway. */
  readonly role?: Role | undefined
}

/** The payload of the event that a hook handles. */
export type HookPayload = Readonly<Record<string, unknown>>

const startAgentOptionsSchema = z
  .strictObject({
    maxIterations: z.int().min(1).max(1_000).optional(),
    deliver: z.string().min(1).optional(),
    route: z.string().min(1).optional(),
    role: z.enum(['owner', 'member', 'guest']).optional(),
  })
  .nullish()

/** Rejects invalid requests with a message for the author of the hook. */
export function createHookRequestHandler(services: HookGatewayServices, payload: HookPayload): HostRequestHandler {
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
        const prompt = requireText('startAgent', 'prompt', first)
        return await services.startAgent(module, prompt, options.data ?? {}, payload)
      }
      default:
        throw new TypeError(`gateway has no function ${method}; it has send and startAgent`)
    }
  }
}

function requireText(method: string, parameter: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new TypeError(
    `${method}: expected text for ${parameter}, found ${typeof value === 'string' ? 'empty text' : typeof value}`,
  )
}

function formatIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'options'}: ${message}`).join('; ')
}
