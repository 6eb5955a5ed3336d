/**
 * The checks of `hermes doctor`: token, message content intent, servers and session limit.
 */
import { type DiagnosticResult, HermesError, type Invitation } from '#sdk'
import type { Api } from './connection/api.ts'
import { describeError, isUnauthorised } from './errors.ts'
import { asRecord, hasFlag, nonEmptyTextAt, numberAt, recordAt } from './inbound/payload.ts'

/** Flags of an application. A bot on 100 servers or more has the first one, other bots the second. */
const messageContentFlag = 1 << 18
const messageContentLimitedFlag = 1 << 19

const developerPortal = 'the Developer Portal (discord.com/developers/applications)'
const applicationsUrl = 'https://discord.com/developers/applications'

/** What docs/how-to/connect-discord.md lists. */
const permissions = '309237763136'

/** Rejects when Discord does not answer, or not with an application. */
export async function invite(api: Pick<Api, 'application'>, signal: AbortSignal): Promise<Invitation> {
  const application = asRecord(await api.application(signal))
  const id = nonEmptyTextAt(application, 'id')
  if (id === undefined) throw new HermesError('platform/connect-failed', '(discord: the application has no id)')
  const query = new URLSearchParams({ client_id: id, scope: 'bot applications.commands', permissions })
  return {
    name: nonEmptyTextAt(recordAt(application, 'bot'), 'username') ?? nonEmptyTextAt(application, 'name') ?? 'the bot',
    url: `https://discord.com/oauth2/authorize?${query}`,
    advice: 'Add the bot to a server of yours. Then find it in the list of members, and send it a direct message.',
  }
}

/** Only reads from Discord. Never rejects. */
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
      const advice = 'Check that this machine reaches discord.com, and that api_url is right if it is set.'
      return [{ state: 'problem', text: `${describeError(error)}.`, advice }]
    }
    const advice = `Open ${developerPortal}, your application → Bot → Reset Token, and put the new one into DISCORD_BOT_TOKEN.`
    return [{ state: 'problem', text: 'Discord does not accept the token.', advice, link: applicationsUrl }]
  }
}

function diagnoseIntent(application: Readonly<Record<string, unknown>>): DiagnosticResult {
  if (hasFlag(application, 'flags', messageContentFlag) || hasFlag(application, 'flags', messageContentLimitedFlag)) {
    return { state: 'ok', text: 'The bot may read messages (Message Content Intent).' }
  }
  const id = nonEmptyTextAt(application, 'id')
  return {
    state: 'problem',
    text: 'The bot may not read messages: Message Content Intent is off, and Discord refuses the connection (4014).',
    advice: `Open ${developerPortal}, your application → Bot → Privileged Gateway Intents, and turn on Message Content Intent.`,
    link: id === undefined ? applicationsUrl : `${applicationsUrl}/${id}/bot`,
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
  if (remaining === undefined || total === undefined)
    return { state: 'ok', text: 'The gateway of Discord is available.' }
  const text = `The bot may start ${remaining} more of ${total} sessions today.`
  if (remaining > total / 10) return { state: 'ok', text }
  const advice = 'Sessions are started repeatedly: check for a second gateway with the same token, or for restarts.'
  return { state: remaining > 0 ? 'note' : 'problem', text, advice }
}
