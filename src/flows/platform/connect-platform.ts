/**
 * Connects a bot of a platform: what a person is asked for, whether it works, and how it is stored. For the page and `hermes setup`.
 * What a platform needs is declared in its folder. Loaded when it is first needed.
 */
import { editConfigValues, readConfigTree } from '../../config/edit-config.ts'
import { setVariable } from '../../config/edit-dotenv.ts'
import type { Environment } from '../../config/environment.ts'
import { withValue } from '../../config/tree.ts'
import { HermesError } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { YamlPath } from '../../lib/yaml-edit.ts'
import { type AccountsConfig, type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import type { DiagnosticResult, Invitation } from '../../platforms/adapter.ts'
import { platformConfig } from '../../platforms/config.ts'
import { diagnoseAccount, inviteTo } from '../../platforms/diagnose.ts'
import { type InstalledPlatform, loadPlatform } from '../../platforms/registry.ts'

/** The installed platforms and their settings. */
export interface PlatformSettings {
  readonly catalogue: { readonly platforms: readonly InstalledPlatform[] }
  readonly config: {
    current(): Pick<AccountsConfig, 'platforms' | 'gateway' | 'roles'>
    unusableSettings(): NonNullable<AccountsConfig['unusable']>
    environment(): Environment
  }
}

/** What a person has entered: texts by the option. An option that is left out keeps its value. */
export interface ChosenPlatform {
  readonly platform: string
  readonly values: Readonly<Record<string, string>>
}

export interface OfferedPlatform {
  readonly name: string
  /** For people. */
  readonly label: string
  readonly description: string
  /** Its account is connected once the gateway runs. */
  readonly isSet: boolean
}

export interface PlatformForm extends OfferedPlatform {
  readonly fields: readonly SetupField[]
  readonly steps: InstalledPlatform['setup']['steps']
  /** A person without access gets a code, so that an owner can decide. */
  readonly asksForAccess: boolean
}

export interface SetupField {
  readonly key: string
  /** For people. */
  readonly label: string
  readonly description: string
  /** Never shown. */
  readonly secret: boolean
  readonly isSet: boolean
  /** The variable of `.env` that has the value, if there is one. */
  readonly variable: string | undefined
}

export interface TriedPlatform {
  readonly checks: readonly DiagnosticResult[]
  /** Absent while a check has a problem, and where the platform does not say. */
  readonly invitation?: Invitation | undefined
}

/** The platforms that a person can connect. */
export function offerPlatforms(settings: PlatformSettings): OfferedPlatform[] {
  const offered = settings.catalogue.platforms.filter(
    ({ setup, access }) => setup.fields.length > 0 && access !== 'token',
  )
  return offered.map((platform) => toOffer(platform, accountOf(settings, platform)))
}

/** Rejects `http/bad-request` for a platform that is not offered, and `platform/invalid`. */
export async function describeForm(settings: PlatformSettings, name: string): Promise<PlatformForm> {
  const platform = requirePlatform(settings, name)
  const account = accountOf(settings, platform)
  const needsManifest = platform.setup.steps.some(({ url }) => url?.includes(manifestMark) === true)
  const module = needsManifest ? await loadPlatform(platform) : undefined
  const manifest = encodeURIComponent(JSON.stringify(module?.appManifest?.([]) ?? {}))
  return {
    ...toOffer(platform, account),
    steps: platform.setup.steps.map(({ text, url }) => ({ text, url: url?.replace(manifestMark, manifest) })),
    fields: platform.setup.fields.map((key) => toField(platform, account, key)),
    asksForAccess: account?.policy.unauthorizedDm === 'pair',
  }
}

const manifestMark = '{app_manifest}'

/** Asks the platform whether a bot would work; stores nothing. Rejects `http/bad-request`. @param gatewayUrl of the running one */
export async function tryPlatform(
  settings: PlatformSettings,
  chosen: ChosenPlatform,
  gatewayUrl: string | undefined,
): Promise<TriedPlatform> {
  const { account } = accountWith(settings, chosen)
  const checks = (await diagnoseAccount(account, gatewayUrl)).map((check) => withoutSecrets(check, chosen))
  if (checks.some(({ state }) => state === 'problem')) return { checks }
  return { checks, invitation: await inviteTo(account, gatewayUrl) }
}

/** Writes secrets into `.env` and the rest into config.yaml. Throws `http/bad-request` and `config/…`; nothing has changed then. */
export function storePlatform(
  settings: PlatformSettings,
  home: Pick<HomeLayout, 'root' | 'configFile' | 'envFile'>,
  chosen: ChosenPlatform,
): void {
  const { platform, values } = accountWith(settings, chosen)
  const environment = settings.config.environment()
  const set: { path: YamlPath; value: string | number | boolean }[] = []
  const variables = new Map<string, string>()
  for (const [key, value] of Object.entries(values)) {
    const { secret } = optionOf(platform, key)
    const declared = variableOf(platform, key)
    const origin = declared === undefined ? undefined : environment.originOf(declared)
    if (origin?.file === 'environment' && environment.values[declared ?? ''] !== String(value))
      throw new HermesError(
        'http/bad-request',
        `${declared} is set in the environment of the gateway, which counts before .env. Remove it there first.`,
      )
    const variable = declared ?? `${platform.name.toUpperCase().replace(/\W/g, '_')}_${key.toUpperCase()}`
    if (secret || origin !== undefined) variables.set(variable, String(value))
    if (secret && declared === undefined)
      set.push({ path: ['platforms', platform.name, key], value: `\${${variable}}` })
    else if (!secret && origin === undefined) set.push({ path: ['platforms', platform.name, key], value })
  }
  if (isSwitchedOff(settings, chosen, platform))
    set.push({ path: ['platforms', platform.name, 'enabled'], value: true })
  // A file that cannot be edited is an error before anything is written.
  readConfigTree(home)
  ensureDirectory(home.root)
  if (set.length > 0) editConfigValues(home, { set, remove: [] })
  for (const [variable, value] of variables) setVariable(home.envFile, variable, value)
}

interface ChosenAccount {
  readonly platform: InstalledPlatform
  /** The account that the stored values would form. */
  readonly account: PlatformAccount
  readonly values: Readonly<Record<string, string | number>>
}

/** Throws `http/bad-request`. */
function accountWith(settings: PlatformSettings, chosen: ChosenPlatform): ChosenAccount {
  const platform = requirePlatform(settings, chosen.platform)
  const values = Object.fromEntries(
    Object.entries(chosen.values).map(([key, text]) => [key, readValue(platform, key, text)]),
  )
  const account = accountOf(settings, platform, { ...values, enabled: true })
  const missing = platform.setup.fields.filter((key) => isMissing(account?.options[key]))
  if (account === undefined || missing.length > 0)
    throw new HermesError('http/bad-request', `Not set: ${missing.map((key) => labelOf(key)).join(', ')}.`)
  const other = Object.entries(values).find(([key, value]) => account.options[key] !== value)
  if (other !== undefined)
    throw new HermesError(
      'http/bad-request',
      `${labelOf(other[0])} is set for the account itself: change platforms.${platform.name}.accounts.default in config.yaml.`,
    )
  if (account.blocked !== undefined) throw new HermesError('http/bad-request', `${account.blocked.reason}.`)
  return { platform, account, values }
}

/** Throws `http/bad-request`. */
function readValue(platform: InstalledPlatform, key: string, text: string): string | number {
  if (!platform.setup.fields.includes(key))
    throw new HermesError('http/bad-request', `${platform.label} is not asked for ${JSON.stringify(key)}.`)
  const { type } = optionOf(platform, key)
  const value = type === 'number' ? Number(text) : text
  const section = platformConfig([platform]).platforms.safeParse({ [platform.name]: { [key]: value } })
  if (section.success) return value
  throw new HermesError('http/bad-request', `${labelOf(key)}: ${section.error.issues[0]?.message ?? 'not valid'}.`)
}

/** The account that the own keys of the platform form. */
function accountOf(
  { config }: PlatformSettings,
  platform: InstalledPlatform,
  values: Readonly<Record<string, string | number | boolean>> = {},
): PlatformAccount | undefined {
  const { platforms, gateway, roles } = config.current()
  const entered = Object.entries(values)
  const changed = entered.reduce<unknown>(
    (tree, [key, value]) => withValue(tree, [platform.name, key], value),
    platforms,
  )
  const unusable = config.unusableSettings().filter(({ path }) => !entered.some(([key]) => path.at(-1) === key))
  const accounts = platformAccounts([platform], { platforms: Object(changed), gateway, roles, unusable })
  return accounts.find(({ account }) => account === 'default')
}

/** Its values alone would not start it. */
function isSwitchedOff(settings: PlatformSettings, { values }: ChosenPlatform, platform: InstalledPlatform): boolean {
  return accountOf(settings, platform, values)?.blocked?.kind === 'off'
}

/** Throws `http/bad-request`. */
function requirePlatform({ catalogue }: PlatformSettings, name: string): InstalledPlatform {
  const platform = catalogue.platforms.find((candidate) => candidate.name === name && candidate.setup.fields.length > 0)
  if (platform !== undefined) return platform
  throw new HermesError('http/bad-request', `No platform ${JSON.stringify(name)} can be connected.`)
}

function toOffer(
  { name, label, description }: InstalledPlatform,
  account: PlatformAccount | undefined,
): OfferedPlatform {
  return { name, label, description, isSet: account !== undefined && account.blocked === undefined }
}

function toField(platform: InstalledPlatform, account: PlatformAccount | undefined, key: string): SetupField {
  const { description, secret } = optionOf(platform, key)
  const isSet = !isMissing(account?.options[key])
  return { key, label: labelOf(key), description, secret, isSet, variable: variableOf(platform, key) }
}

/** The manifest has checked that it exists. */
function optionOf(platform: InstalledPlatform, key: string) {
  const option = platform.options.find((candidate) => candidate.key === key)
  if (option === undefined) throw new Error(`${platform.name} has no option ${key}`)
  return option
}

function variableOf({ environment }: InstalledPlatform, key: string): string | undefined {
  return environment.find((entry) => entry.key === key)?.variable
}

/** `bot_token` is shown as "Bot token". */
function labelOf(key: string): string {
  return `${key.charAt(0).toUpperCase()}${key.slice(1)}`.replaceAll('_', ' ')
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** A platform may quote the token that it refuses. */
function withoutSecrets(check: DiagnosticResult, { values }: ChosenPlatform): DiagnosticResult {
  const clean = (text: string) =>
    Object.values(values).reduce((rest, value) => (value.length < 8 ? rest : rest.replaceAll(value, '…')), text)
  return { ...check, text: clean(check.text), advice: check.advice && clean(check.advice) }
}
