/**
 * Answers interactions in time: whoever chose a command or pressed a button is told within three seconds, and nobody else
 * sees it. The reply of the agent is a message of its own.
 */
import { type Logger, messageOf, type PlatformContext, within } from '#sdk'
import type { Api } from './api.ts'
import { codeOf, explain } from './errors.ts'
import { callbacks, type Interaction, privately } from './interactions.ts'
import type { Json } from './wire.ts'

export interface AnsweringDeps {
  readonly api: Pick<Api, 'callback' | 'finishCallback'>
  readonly accept: PlatformContext['accept']
  readonly press: PlatformContext['press']
  readonly applicationId: () => string | undefined
  readonly signal: AbortSignal
  readonly log: Logger
  /** Discord waits three seconds; what takes longer than this is announced first. */
  readonly promptMs?: number
}

/** Too late (10062) and answered before (40060): the person has an answer or none can reach them. */
const harmless: ReadonlySet<number | undefined> = new Set([10062, 40060])

export type AnswerInteraction = (interaction: Interaction) => Promise<void>

export function createAnswering(deps: AnsweringDeps): AnswerInteraction {
  const { api, signal, log, promptMs = 1_500 } = deps

  /** Never rejects. */
  return async (interaction) => {
    try {
      await answer(interaction, take(interaction))
    } catch (error) {
      if (signal.aborted) return
      if (harmless.has(codeOf(error)))
        log.debug({ reason: explain(error) }, 'an interaction of Discord was answered too late')
      else log.warn({ reason: explain(error) }, 'an interaction of Discord could not be answered')
    }
  }

  async function answer({ id, token }: Interaction, told: Promise<string>): Promise<void> {
    const early = await within(told, promptMs)
    if (early.done) return void (await api.callback(id, token, callback(callbacks.message, early.value), signal))
    await api.callback(id, token, { type: callbacks.laterMessage, data: { flags: 64 } }, signal)
    const content = await told
    await api.finishCallback(deps.applicationId() ?? '', token, { content, allowed_mentions: { parse: [] } }, signal)
  }

  /** The words for the person. Never rejects. */
  async function take(interaction: Interaction): Promise<string> {
    try {
      switch (interaction.kind) {
        case 'unwanted':
          return 'The bot does not listen in this channel.'
        case 'press':
          return (await deps.press(interaction.press)).text
        case 'command': {
          const { event, keys, line } = interaction
          const accepted = await deps.accept(event, keys)
          if (accepted.status === 'refused') return `You may not talk to this bot: ${accepted.reason}.`
          return `On it: \`${line.replaceAll('`', "'").slice(0, 200)}\``
        }
      }
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'an interaction of Discord was not stored')
      return 'That could not be taken in just now. Please try again in a moment.'
    }
  }
}

function callback(type: number, text: string): Json {
  return { type, data: privately(text === '' ? '…' : text) }
}
