/**
 * Looks whether an account can work: its tokens, its rights, its way in. Changes nothing at Slack: a ticket for a socket
 * that nobody uses expires by itself.
 */
import type { Diagnosis } from '#sdk'
import { rights } from './needed-rights.ts'
import type { SlackOptions } from './options.ts'
import { type Fields, fieldsIn, textIn } from './payload.ts'
import type { Answer } from './web.ts'

export interface DiagnoseDeps {
  readonly account: string
  readonly options: SlackOptions
  readonly gatewayUrl: string | undefined
  /** With the bot token. */
  bot(method: string): Promise<Answer>
  /** With the app token. */
  app(method: string): Promise<Answer>
}

const pages = 'https://api.slack.com/apps'

export async function diagnose(deps: DiagnoseDeps): Promise<Diagnosis[]> {
  const [token, wayIn] = await Promise.all([diagnoseToken(deps), diagnoseWayIn(deps)])
  return [...token, ...wayIn]
}

async function diagnoseToken({ bot }: DiagnoseDeps): Promise<Diagnosis[]> {
  const answer = await bot('auth.test')
  if (!answer.ok) {
    const { problem, error } = answer.failure
    const wrong = problem === 'unauthorised' || problem === 'rejected'
    return [
      {
        state: 'problem',
        text: `bot_token: ${error}`,
        advice: wrong
          ? `Open ${pages}, choose the app, OAuth & Permissions, and copy the Bot User OAuth Token (xoxb-…) into SLACK_BOT_TOKEN.`
          : 'Check the network of this machine and `api_url`; the token could not be tried.',
      },
    ]
  }
  const team = textIn(answer.data, 'team') ?? 'a workspace'
  const user = textIn(answer.data, 'user') ?? 'the bot'
  const notBot = textIn(answer.data, 'bot_id') === undefined
  const who: Diagnosis = { state: 'ok', text: `signed in as @${user} in ${team}` }
  if (!notBot) return [who, ...diagnoseRights(answer.data)]
  const advice = 'Take the Bot User OAuth Token (xoxb-…), not the token of a person.'
  return [{ state: 'problem', text: `@${user} is a person, not the bot of an app`, advice }]
}

function diagnoseRights(data: Fields): Diagnosis[] {
  const scopes = fieldsIn(data, 'response_metadata')['scopes']
  if (!Array.isArray(scopes)) return []
  const missing = rights.filter(({ scope }) => !scopes.includes(scope))
  if (missing.length === 0) return [{ state: 'ok', text: 'it has every right it can use' }]
  return missing.map(({ scope, needed, without }) => ({
    state: needed ? 'problem' : 'note',
    text: `the right ${scope} is missing: ${without}`,
    advice: `Open ${pages}, choose the app, OAuth & Permissions, Bot Token Scopes: add ${scope}, then press Reinstall to Workspace.`,
  }))
}

async function diagnoseWayIn({ account, options, gatewayUrl, app }: DiagnoseDeps): Promise<Diagnosis[]> {
  if (options.transport.mode === 'http') {
    const path = account === 'default' ? '/webhooks/slack' : `/webhooks/slack/${account}`
    const here = gatewayUrl === undefined ? '' : ` (here: ${gatewayUrl}${path})`
    return [
      {
        state: 'note',
        text: `events come over HTTP; whether Slack reaches us cannot be seen from here`,
        advice: `In ${pages}, Event Subscriptions, Interactivity and Slash Commands, the request URL must lead from the internet to ${path}${here}; Slack marks it Verified.`,
      },
    ]
  }
  const answer = await app('apps.connections.open')
  if (answer.ok) return [{ state: 'ok', text: 'Socket Mode is on and the app token opens connections' }]
  const { problem, error } = answer.failure
  const network = problem === 'temporary' || problem === 'rate-limited'
  return [
    {
      state: 'problem',
      text: `app_token: ${error}`,
      advice: network
        ? 'Check the network of this machine, then run `hermes doctor` again.'
        : `Open ${pages}, choose the app: Socket Mode must be enabled, and Basic Information → App-Level Tokens must hold one with connections:write. Copy it (xapp-…) into SLACK_APP_TOKEN.`,
    },
  ]
}
