/**
 * Interactions that wait for a response: three seconds for the first, fifteen minutes for follow-ups.
 */
import { randomBytes } from 'node:crypto'
import { type Refusal, refusals } from './errors.ts'

/** What the user of the interaction sees. */
export interface InteractionReply {
  /** Type of the callback; 0 for a follow-up. */
  readonly type: number
  readonly content: string
  readonly isPrivate: boolean
}

interface OpenInteraction {
  readonly id: string
  readonly token: string
  readonly since: number
  answered: boolean
  readonly told: InteractionReply[]
  readonly waiting: (() => void)[]
}

export function createInteractions(now: () => number = Date.now) {
  const open = new Map<string, OpenInteraction>()

  function note(interaction: OpenInteraction, told: InteractionReply): void {
    interaction.told.push(told)
    for (const wake of interaction.waiting.splice(0)) wake()
  }

  return {
    begin(id: string, since = now()): { readonly id: string; readonly token: string } {
      const made: OpenInteraction = {
        id,
        token: randomBytes(24).toString('hex'),
        since,
        answered: false,
        told: [],
        waiting: [],
      }
      open.set(made.token, made)
      return made
    },
    /** The responses so far. */
    told: (token: string): readonly InteractionReply[] => open.get(token)?.told ?? [],
    /** Resolves with the first response that has a text. */
    async words(token: string): Promise<string> {
      const interaction = open.get(token)
      for (;;) {
        const said = interaction?.told.findLast(({ content }) => content !== '')
        if (interaction === undefined || said !== undefined) return said?.content ?? ''
        await new Promise<void>((resolve) => interaction.waiting.push(resolve))
      }
    },
    answer(id: string, token: string, body: Readonly<Record<string, unknown>>): Refusal | undefined {
      const interaction = open.get(token)
      if (interaction === undefined || interaction.id !== id || now() - interaction.since > 3_000) {
        return refusals.unknownInteraction
      }
      if (interaction.answered) return refusals.alreadyAcknowledged
      interaction.answered = true
      note(interaction, replyFrom(Number(body['type']), body['data']))
      return undefined
    },
    follow(token: string, body: unknown): Refusal | undefined {
      const interaction = open.get(token)
      if (interaction === undefined || !interaction.answered || now() - interaction.since > 900_000) {
        return { status: 401, code: 50027, message: 'Invalid Webhook Token' }
      }
      note(interaction, replyFrom(0, body))
      return undefined
    },
  }
}

function replyFrom(type: number, data: unknown): InteractionReply {
  const body: Readonly<Record<string, unknown>> = typeof data === 'object' && data !== null ? { ...data } : {}
  const content = typeof body['content'] === 'string' ? body['content'] : ''
  return { type, content, isPrivate: (Number(body['flags'] ?? 0) & 64) !== 0 }
}

export type Interactions = ReturnType<typeof createInteractions>
