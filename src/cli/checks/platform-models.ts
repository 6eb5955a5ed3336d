/**
 * Checks the models that platforms and chats have of their own: a chat whose model cannot be used would get another one.
 */
import { createProvider } from '../../agent/models/create-provider.ts'
import { selectionAt } from '../../flows/models/conversation-model.ts'
import { type KnownKeys, openKeys, selectionOf, withStoredKey } from '../shared/known-keys.ts'
import { type Check, type CheckResult, problem } from './check-result.ts'
import { readAccounts } from './configuration.ts'

export const checkPlatformModels: Check = ({ context, settings }) => {
  const accounts = readAccounts(settings.config, settings.catalogue).filter(({ blocked }) => blocked === undefined)
  if (accounts.every(({ policy }) => policy.models === undefined)) return []
  const known = openKeys(settings, context.home.authFile)
  return accounts.flatMap(({ platform, account, policy: { models } }) => {
    if (models === undefined) return []
    const name = account === 'default' ? platform.name : `${platform.name}/${account}`
    const ofPlatform = selectionAt(selectionOf(settings, undefined), models)
    const levels = Object.entries(models.channels).map(([id, channel]) => {
      return { where: `${name}, chat ${id}`, selection: selectionAt(ofPlatform, channel) }
    })
    return [{ where: name, selection: ofPlatform }, ...levels].flatMap((level) => findingOf(level, known))
  })
}

interface ModelLevel {
  readonly where: string
  readonly selection: ReturnType<typeof selectionOf>
}

function findingOf({ where, selection }: ModelLevel, known: KnownKeys): CheckResult[] {
  const created = createProvider(withStoredKey(selection, known))
  if (!('problem' in created)) return []
  const { message, hint, code } = created.problem
  return [{ ...problem('Other models', `${where}: ${message} Another model answers there.`, hint), code }]
}
