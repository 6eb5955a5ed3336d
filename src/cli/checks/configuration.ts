/**
 * Checks the configuration files and the platforms.
 */
import { type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import type { Settings } from '../kit/settings.ts'
import { type ConfigFinding, configFindings } from '../shared/config-findings.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'
import { privateFileFix } from './home.ts'

export const checkConfig: Check = ({ settings, context: { home }, daemon }) => {
  const findings = configFindings(settings, daemon, home)
  const files = [home.envFile, home.configFile]
  const fixOf = ({ text }: ConfigFinding) => {
    const file = files.find((each) => text.endsWith(`chmod 600 ${each}`))
    return file === undefined ? undefined : privateFileFix(file)
  }
  if (findings.length > 0) return findings.map((finding) => ({ ...configResult(finding), fix: fixOf(finding) }))
  const { source } = settings.config.state()
  return [ok('Config', source === 'file' ? `${home.configFile} is valid` : 'no config.yaml: all values are defaults')]
}

function configResult({ kind, text }: ConfigFinding): CheckResult {
  return kind === 'problem' ? problem('Config', text, 'Fix it and run hermes config check.') : note('Config', text)
}

export function readAccounts(
  config: Settings['config'],
  { platforms: installed }: Settings['catalogue'],
): PlatformAccount[] {
  const { platforms, gateway, roles } = config.current()
  return platformAccounts(installed, { platforms, gateway, roles, unusable: config.unusableSettings() })
}

/** Tells who is an owner, and where people are let in who are not known. */
export const checkRoles: Check = ({ settings: { config, catalogue } }) => {
  const accounts = readAccounts(config, catalogue).filter(
    ({ blocked, access }) => blocked === undefined && access.access === 'allowlist',
  )
  const owners = [...new Set([...config.current().roles.owners, ...accounts.flatMap(ownersOf)])]
  const isImplicit = owners.length > 0 && !accounts.some(({ roles }) => roles.hasOwners)
  const list = owners.length === 0 ? 'only those who have the token' : owners.join(', ')
  const advice =
    'Everybody who is allowed by id is an owner. Name the owners in roles.owners to make the others members.'
  return [
    isImplicit && owners.length > 1 ? note('Owners', list, advice) : ok('Owners', list),
    ...accounts.flatMap(({ platform: { name }, access }) => {
      const isOpen = access.allowAllUsers || access.gatewayAllowAllUsers || access.allowFrom.includes('*')
      const openGroups = access.groupAllowedChats.includes('*') || access.groupAllowFrom.includes('*')
      if (!isOpen && !openGroups) return []
      const what = isOpen ? 'open to every user' : 'open to every user in groups'
      return [
        note('Roles', `${name}: ${what}; they are guests`, 'Check roles.guest.tools and roles.guest.group_tools.'),
      ]
    }),
  ]
}

function ownersOf({ platform: { name }, access, roles }: PlatformAccount): string[] {
  const implicit = roles.hasOwners ? [] : [...access.allowFrom, ...access.gatewayAllowedUsers]
  return [...roles.adminFrom, ...roles.groupAdminFrom, ...implicit]
    .filter((id) => id !== '*')
    .map((id) => `${name}:${id}`)
}

export const checkPlatforms: Check = ({ settings: { config, catalogue } }) => {
  const findings = readAccounts(config, catalogue).flatMap(resultsOf)
  return findings.length > 0
    ? findings
    : [problem('Platforms', 'no platform is installed', 'Check the installation: platforms/ is empty.')]
}

function resultsOf({ platform, account, blocked, access }: PlatformAccount): CheckResult[] {
  const name = account === 'default' ? platform.name : `${platform.name}/${account}`
  if (blocked?.begun) return [note('Platforms', `${name}: ${blocked.reason}`, 'Set it, or disable the platform.')]
  if (blocked?.kind === 'off') return [ok('Platforms', `${name}: ${blocked.reason}`)]
  if (blocked !== undefined) {
    return [problem('Platforms', `${name}: ${blocked.reason}`, 'Configure it, or disable the platform.')]
  }
  const isClosed =
    access.access === 'allowlist' &&
    !access.allowAllUsers &&
    !access.gatewayAllowAllUsers &&
    [access.allowFrom, access.groupAllowFrom, access.groupAllowedChats, access.gatewayAllowedUsers].every(
      (list) => list.length === 0,
    )
  if (!isClosed) return [ok('Platforms', `${name}: on`)]
  const advice = `Add user ids to platforms.${platform.name}.allow_from; "*" allows every user.`
  return [note('Platforms', `${name}: on, but no user is allowed`, advice)]
}
