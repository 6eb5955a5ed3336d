/**
 * Checks the configuration files and the platforms.
 */
import { type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import { type ConfigFinding, configFindings } from '../config-findings.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

export const checkConfig: Check = ({ settings, context: { home }, daemon }) => {
  const findings = configFindings(settings, daemon)
  if (findings.length > 0) return findings.map(configResult)
  const { source } = settings.config.state()
  return [ok('Config', source === 'file' ? `${home.configFile} is valid` : 'no config.yaml: all values are defaults')]
}

function configResult({ kind, text }: ConfigFinding): CheckResult {
  return kind === 'problem' ? problem('Config', text, 'Fix it and run hermes config check.') : note('Config', text)
}

export const checkPlatforms: Check = ({ settings: { config, catalogue } }) => {
  const { platforms, gateway } = config.current()
  const findings = platformAccounts(catalogue.platforms, {
    platforms,
    gateway,
    unusable: config.unusableSettings(),
  }).flatMap(resultsOf)
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
