/**
 * What the commands of `hermes model` read: the configuration, the keys, and the models that can be chosen.
 */
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import { findLocalServers, type LocalServer } from '../../agent/models/local-servers.ts'
import { resolveProvider, serversOf } from '../../agent/models/resolve-provider.ts'
import { createModelDirectory, type FoundModel, type ModelDirectory } from '../../flows/models/model-directory.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import { keyName } from '../checks/model.ts'
import type { CliContext } from '../kit/context.ts'
import { readSettings, type Settings } from '../kit/settings.ts'
import { openKeys, selectionOf, withStoredKey } from '../shared/known-keys.ts'

export interface ConfiguredModels extends ModelDirectory {
  readonly settings: Settings
  /** The settings of the configured model. */
  selection(): ProviderSettings
  /** The settings of a model, with its key. */
  settingsFor(provider: string, model: string): ProviderSettings
  /** Where the key of a provider is configured, without the key; undefined when there is none. */
  keyOf(provider: string): string | undefined
  /** Model servers that run on this machine. */
  localServers(): Promise<readonly LocalServer[]>
}

/** Throws `home/unusable`, `auth/unusable`. */
export async function openModels(context: CliContext): Promise<ConfiguredModels> {
  const settings = await readSettings(context)
  const known = openKeys(settings, context.home.authFile)
  const selection = () => selectionOf(settings, undefined)
  const directory = createModelDirectory({ selection, withKey: async (settings) => withStoredKey(settings, known) })
  const selected = (provider: string) => withStoredKey(selectionOf(settings, resolveName(provider)), known)

  function resolveName(provider: string): string {
    return resolveProvider(selectionOf(settings, provider))?.name ?? provider
  }

  return {
    ...directory,
    settings,
    selection,
    settingsFor: (provider, model) => ({ ...selected(provider), model }),
    keyOf(provider) {
      const selection = selected(provider)
      const source = resolveProvider(selection)?.keys[0]?.source
      return source === undefined ? undefined : (selection.label ?? keyName(source))
    },
    localServers: () =>
      findLocalServers({
        providers: serversOf(settings.config.current()),
        variables: settings.config.environment().values,
      }),
  }
}

export function unknownProvider(provider: string, closest: string | null): HermesError {
  const question = closest === null ? '' : ` Did you mean ${JSON.stringify(closest)}?`
  return new HermesError('cli/not-found', `No provider is named ${JSON.stringify(provider)}.${question}`, {
    hint: '`hermes model list` shows the providers with a key; `providers` in config.yaml names servers.',
  })
}

/** The offline demonstration answers. */
export function noProvider(): HermesError {
  return new HermesError('cli/not-found', 'No provider is configured.', {
    hint: 'Name the provider, too: `hermes model set <provider>:<model>`. `hermes model list` shows those with a key.',
  })
}

/** The model that these words name. Throws `cli/not-found`, and what keeps the provider from being used. */
export function requireFound(model: FoundModel): Extract<FoundModel, { kind: 'found' }> {
  switch (model.kind) {
    case 'found':
      return model
    case 'unknown-provider':
      throw unknownProvider(model.provider, model.closest)
    case 'unknown-model': {
      if (['', 'demo', 'none'].includes(model.provider)) throw noProvider()
      const like = model.models.length === 0 ? '' : ` It has ${model.models.join(', ')}.`
      throw new HermesError('cli/not-found', `${model.provider} does not have this model.${like}`, {
        hint: '`hermes model list` shows the models.',
      })
    }
    case 'ambiguous':
      throw new HermesError('cli/usage', `Several models have such a name: ${model.models.join(', ')}`, {
        hint: 'Write one of them.',
      })
    case 'unusable': {
      const { provider, problem } = model
      const hint = isHermesError(problem) ? problem.hint : `\`hermes model probe ${provider}\` says more.`
      throw new HermesError('cli/failed', `${provider} cannot be used: ${problem.message}`, { cause: problem, hint })
    }
  }
}
