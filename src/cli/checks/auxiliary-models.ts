/**
 * Checks the settings of the models for other work (`auxiliary`). It sends no request.
 */
import { createProvider } from '../../agent/models/create-provider.ts'
import type { ProviderSelection } from '../../agent/models/resolve-provider.ts'
import { auxiliarySettings, isOwnModel, otherModelSettings } from '../../flows/models/other-model.ts'
import type { Settings } from '../kit/settings.ts'
import { type KnownKeys, withStoredKey } from '../shared/known-keys.ts'
import { type CheckResult, note } from './check-result.ts'

const tasks = ['vision', 'web_extract', 'compression', 'approval', 'title_generation'] as const

/** A note for each task whose model cannot be used. */
export function checkAuxiliaryModels(
  { config }: Settings,
  main: ProviderSelection,
  known: Pick<KnownKeys, 'list'>,
): CheckResult[] {
  const settings = config.current()
  return tasks.flatMap((task) => {
    if (!isOwnModel(settings, task)) return []
    const choice = createProvider(withStoredKey(otherModelSettings(main, auxiliarySettings(settings, task)), known))
    if (!('problem' in choice)) return []
    const { message, hint, code } = choice.problem
    const text = `auxiliary.${task}: ${message} The model of the conversation does the work.`
    return [{ ...note('Other models', text, hint), code }]
  })
}
