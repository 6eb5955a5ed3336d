/**
 * One look at a bot, for `hermes doctor`: its token, what it may hear, where it is.
 */
import type { DiagnosticResult } from '#sdk'
import type { Api } from './connection/api.ts'
import { describeError, isUnauthorised } from './errors.ts'
import { asRecord, hasFlag, nonEmptyTextAt, numberAt, recordAt } from './inbound/payload.ts'

/** Flags of an application: a bot on many servers has the first, one on few the second. */
const messageContentFlag = 1 << 18
const messageContentLimitedFlag = 1 << 19

const developerPortal = 'the Developer Portal (discord.com/developers/applications)'

/** Never rejects; changes nothing at Discord. */
export async function diagnose(
  api: Pick<Api, 'currentUser' | 'application' | 'gatewayBot'>,
  signal: AbortSignal,
): Promise<readonly DiagnosticResult[]> {
  try {
    const user = asRecord(await api.currentUser(signal))
    const application = asRecord(await api.application(signal))
    const gateway = asRecord(await api.gatewayBot(signal))
    const name = nonEmptyTextAt(user, 'username') ?? 'a bot'
    return [
      { state: 'ok', text: `The token belongs to ${name}.` },
      diagnoseIntent(application),
      ...diagnoseServers(application),
      diagnoseSessions(gateway),
    ]
  } catch (error) {
    if (!isUnauthorised(error)) {
      const advice = 'Look whether this machine reaches discord.com, and whether api_url is right where it is set.'
      return [{ state: 'problem', text: `${describeError(error)}.`, advice }]
    }
    const advice = `Open ${developerPortal}, your application → Bot → Reset Token, and put the new one into DISCORD_BOT_TOKEN.`
    return [{ state: 'problem', text: 'Discord does not accept the token.', advice }]
  }
}

function diagnoseIntent(application: Readonly<Record<string, unknown>>): DiagnosticResult {
  if (hasFlag(application, 'flags', messageContentFlag) || hasFlag(application, 'flags', messageContentLimitedFlag)) {
    return { state: 'ok', text: 'The bot may read messages (Message Content Intent).' }
  }
  return {
    state: 'problem',
    text: 'The bot may not read messages: Message Content Intent is off, and Discord refuses the connection (4014).',
    advice: `Open ${developerPortal}, your application → Bot → Privileged Gateway Intents, and switch on Message Content Intent.`,
  }
}

function diagnoseServers(application: Readonly<Record<string, unknown>>): DiagnosticResult[] {
  const count = numberAt(application, 'approximate_guild_count')
  if (count === undefined) return []
  if (count > 0) return [{ state: 'ok', text: `The bot is on ${count === 1 ? 'one server' : `${count} servers`}.` }]
  return [
    {
      state: 'note',
      text: 'The bot is on no server: only people who share a server with it can write to it.',
      advice: 'Invite it: docs/how-to/connect-discord.md has the address.',
    },
  ]
}

function diagnoseSessions(gateway: Readonly<Record<string, unknown>>): DiagnosticResult {
  const limit = recordAt(gateway, 'session_start_limit')
  const remaining = numberAt(limit, 'remaining')
  const total = numberAt(limit, 'total')
  if (remaining === undefined || total === undefined) return { state: 'ok', text: 'The gateway of Discord answers.' }
  const text = `The bot may begin ${remaining} more of ${total} sessions today.`
  if (remaining > total / 10) return { state: 'ok', text }
  const advice =
    'Something begins sessions again and again: look for a second gateway with the same token, or for restarts.'
  return { state: remaining > 0 ? 'note' : 'problem', text, advice }
}
