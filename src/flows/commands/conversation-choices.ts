/**
 * What people choose for a conversation, and what the configuration offers for it. Loaded with the first command for it.
 */
import type { AgentConfig } from '../../agent/config.ts'
import { findProvider } from '../../agent/models/catalogue.ts'
import type { ConfiguredChoices, ConversationChoices } from '../../commands/choices.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import { type Target, targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import { changeSessionSetting, readSessionSettings } from '../../sessions/session-state.ts'
import type { Runtime } from '../../store/runtime.ts'
import { describeVoices } from '../models/voices.ts'
import type { AgentServices } from '../tools/agent-services.ts'
import type { DisplayConfig } from '../turn/config.ts'
import { displaySettings, showsFooter, showsThinking } from '../turn/output.ts'

interface ChoosingGateway extends Pick<Runtime, 'store'> {
  readonly settings: () => AgentConfig & DisplayConfig & MediaToolsConfig
  readonly platforms: { adapter(target: Target): Pick<PlatformAdapter, 'sendsAttachments'> | undefined }
}

export function createConversationChoices(
  { store, settings, platforms }: ChoosingGateway,
  outbox: Pick<Outbox, 'takesStatus'>,
  { models, media }: Pick<AgentServices, 'models' | 'media'>,
): ConversationChoices {
  return {
    chosen: (key) => store.run(() => readSessionSettings(key)),
    change: (key, name, value) => store.run(() => changeSessionSetting(key, name, value)),
    configured: () => configuredChoices(settings(), models.describe().provider),
    display(source, chosen) {
      const { platform } = source
      const { display } = settings()
      return {
        toolProgress: displaySettings(settings(), platform, chosen).toolProgress,
        permitsVerbose: display.tool_progress_command,
        hasFooter: showsFooter(display, platform, chosen),
        showsThinking: showsThinking(display, platform, chosen),
        showsProgress: outbox.takesStatus(targetOf(source)),
      }
    },
    async voices(source) {
      const sendsVoices = platforms.adapter(targetOf(source))?.sendsAttachments === true
      return await describeVoices(await media(), settings(), sendsVoices)
    },
  }
}

function configuredChoices(
  { personalities, personality, reasoning_effort }: AgentConfig,
  provider: string,
): ConfiguredChoices {
  return {
    personalities: Object.entries(personalities).map(([name, entry]) => ({
      name,
      description: typeof entry === 'string' ? '' : entry.description,
    })),
    personality,
    reasoningEffort: reasoning_effort,
    provider,
    // The Responses API encrypts it.
    givesThinking: findProvider(provider)?.entry.apiMode !== 'codex_responses',
  }
}
