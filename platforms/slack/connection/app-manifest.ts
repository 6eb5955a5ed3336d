/**
 * The manifest of the app, which a person pastes into the settings of the app at Slack. It asks for all scopes and events of
 * the adapter, and lists the slash commands.
 */
import type { CommandEntry } from '#sdk'
import { requiredScopes } from './scopes.ts'

/** Slack's limits of a manifest. */
const maxCommands = 50
const maxCommandChars = 32
const maxHintChars = 1_000

const events = [
  'app_mention',
  'app_uninstalled',
  'message.channels',
  'message.groups',
  'message.im',
  'message.mpim',
  'reaction_added',
  'reaction_removed',
  'tokens_revoked',
]

const ownCommand = {
  command: '/hermes',
  description: 'A command or a question for the agent',
  usage_hint: 'status | new | a question',
  should_escape: true,
}

/**
 * The prefix keeps the names apart from those of Slack and of other apps. A command that Slack would not take is left out; it
 * works as `/hermes <command>`.
 */
export function createAppManifest(commands: readonly CommandEntry[]) {
  const slashCommands = commands.flatMap(({ name, description, argsHint }) => {
    const command = `/hermes-${name}`
    if (!/^\/[a-z0-9_-]+$/.test(command) || command.length > maxCommandChars) return []
    const hint = argsHint === '' ? {} : { usage_hint: argsHint.slice(0, maxHintChars) }
    return [{ command, description: description.slice(0, maxHintChars), ...hint, should_escape: true }]
  })
  return {
    display_information: { name: 'Hermes', description: 'Talk with your agent' },
    features: {
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: 'hermes', always_online: true },
      slash_commands: [ownCommand, ...slashCommands].slice(0, maxCommands),
    },
    oauth_config: { scopes: { bot: requiredScopes.map(({ scope }) => scope).toSorted() } },
    settings: {
      event_subscriptions: { bot_events: events },
      interactivity: { is_enabled: true },
      org_deploy_enabled: false,
      socket_mode_enabled: true,
      token_rotation_enabled: false,
    },
  }
}
