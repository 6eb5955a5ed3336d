/**
 * What the configuration accepts for the sake of a file of Hermes Agent: other spellings of keys.
 */
import type { KeyAlias } from '../config/key-aliases.ts'
import type { PlatformManifest } from '../platforms/manifest.ts'
import { webConfig } from '../web/config.ts'

const modelAliases: readonly KeyAlias[] = [
  { from: 'model.default', to: 'model' },
  { from: 'model.model', to: 'model' },
  { from: 'model.provider', to: 'provider' },
  { from: 'model.base_url', to: 'base_url' },
  { from: 'model.api_key', to: 'api_key' },
  { from: 'model.api_mode', to: 'api_mode' },
  { from: 'model.context_length', to: 'context_length' },
  { from: 'model.max_tokens', to: 'max_output_tokens' },
  { from: 'fallback_model', to: 'fallback_providers', isItem: true },
  { from: 'agent.reasoning_effort', to: 'reasoning_effort' },
  { from: 'agent.personalities', to: 'personalities' },
  { from: 'agent.prefill_messages_file', to: 'prefill_messages_file' },
  { from: 'display.personality', to: 'personality' },
]

/** Hermes has one name for the token of each platform. */
const tokenAliases: readonly KeyAlias[] = [{ from: 'platforms.slack.token', to: 'platforms.slack.bot_token' }]

const sessionAliases: readonly KeyAlias[] = [
  'filter_silence_narration',
  'quick_commands',
  'reset_triggers',
  'session_reset',
  'reset_by_platform',
  'reset_by_type',
].map((key) => ({ from: `gateway.${key}`, to: key }))

const voiceAliases: readonly KeyAlias[] = [
  { from: 'gateway.stt', to: 'stt' },
  { from: 'gateway.stt_echo_transcripts', to: 'stt_echo_transcripts' },
  { from: 'tts.openai.base_url', to: 'tts.base_url' },
  { from: 'tts.openai.model', to: 'tts.model' },
  { from: 'tts.openai.voice', to: 'tts.voice' },
]

/** Keys of places that are plugins here. */
export const pluginAliases: readonly KeyAlias[] = [
  { from: 'terminal.daytona_image', to: 'plugins.entries.daytona.settings.image' },
  { from: 'terminal.modal_image', to: 'plugins.entries.modal.settings.image' },
]

/** A platform can be configured under `platforms`, under `gateway.platforms` and at the top level. */
export function keyAliases(platforms: readonly PlatformManifest[]): KeyAlias[] {
  return [
    ...modelAliases,
    { from: 'gateway.platforms', to: 'platforms' },
    { from: 'unauthorized_dm_behavior', to: 'gateway.unauthorized_dm_behavior' },
    // In files of Hermes, `web` has the keys of the web tools.
    ...platforms
      .filter(({ name }) => !Object.hasOwn(webConfig, name))
      .map(({ name }): KeyAlias => ({ from: name, to: `platforms.${name}` })),
    ...tokenAliases,
    ...sessionAliases,
    ...voiceAliases,
    ...pluginAliases,
  ]
}
