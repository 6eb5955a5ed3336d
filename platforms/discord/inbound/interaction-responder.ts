/**
 * Answers interactions in time: whoever chose a command or pressed a button is told within three seconds, and nobody else
 * sees it. The reply of the agent is a message of its own.
 */
import { type Logger, messageOf, type PlatformContext, withTimeout } from '#sdk'
import type { Api } from '../connection/api.ts'
import { codeOf, describeError } from '../errors.ts'
import { callbackTypes, ephemeralMessage, type Interaction } from './interactions.ts'
import type { JsonRecord } from './payload.ts'

export interface InteractionResponderDeps {
  readonly api: Pick<Api, 'callback' | 'finishCallback'>
  readonly accept: PlatformContext['accept']
  readonly press: PlatformContext['press']
  readonly applicationId: () => string | undefined
  readonly signal: AbortSignal
  readonly log: Logger
  /** Discord waits three seconds; what takes longer than this is announced first. */
  readonly deferAfterMs?: number
}

/** Too late (10062) and answered before (40060): the person has an answer or none can reach them. */
const ignoredErrorCodes: ReadonlySet<number | undefined> = new Set([10062, 40060])

export type InteractionResponder = (interaction: Interaction) => Promise<void>

export function createInteractionResponder(deps: InteractionResponderDeps): InteractionResponder {
  const { api, signal, log, deferAfterMs = 1_500 } = deps

  /** Never rejects. */
  return async (interaction) => {
    try {
      await answer(interaction, handle(interaction))
    } catch (error) {
      if (signal.aborted) return
      if (ignoredErrorCodes.has(codeOf(error)))
        log.debug({ reason: describeError(error) }, 'an interaction of Discord was answered too late')
      else log.warn({ reason: describeError(error) }, 'an interaction of Discord could not be answered')
    }
  }

  async function answer({ id, token }: Interaction, replyText: Promise<string>): Promise<void> {
    const early = await withTimeout(replyText, deferAfterMs)
    if (early.done)
      return void (await api.callback(id, token, callbackBody(callbackTypes.message, early.value), signal))
    await api.callback(id, token, { type: callbackTypes.laterMessage, data: { flags: 64 } }, signal)
    const content = await replyText
    await api.finishCallback(deps.applicationId() ?? '', token, { content, allowed_mentions: { parse: [] } }, signal)
  }

  /** The words for the person. Never rejects. */
  async function handle(interaction: Interaction): Promise<string> {
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

function callbackBody(type: number, text: string): JsonRecord {
  return { type, data: ephemeralMessage(text === '' ? '…' : text) }
}
