/**
 * Checks the configuration files, the model and the platforms.
 */
import { createProvider } from '../../agent/models/create-provider.ts'
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

export const checkModel: Check = ({ settings: { config } }) => {
  const { model, provider, base_url, api_key, agent } = config.current()
  const { OPENAI_API_KEY = '', ANTHROPIC_API_KEY = '' } = config.environment().values
  const choice = createProvider({
    provider,
    model,
    baseUrl: base_url,
    apiKey: api_key,
    openaiApiKey: OPENAI_API_KEY,
    anthropicApiKey: ANTHROPIC_API_KEY,
    idleTimeoutMs: agent.model_timeout * 1_000,
  })
  if ('problem' in choice) return [problem('Model', choice.problem.message, choice.problem.hint)]
  if (choice.provider.name !== 'demo') {
    const at = base_url === '' ? '' : ` at ${base_url}`
    return [ok('Model', `${choice.model} (${choice.provider.name})${at}; the key was not tested`)]
  }
  const advice = 'Add OPENAI_API_KEY or ANTHROPIC_API_KEY to .env and `model` to config.yaml.'
  return [note('Model', 'no model is configured: the offline demonstration answers', advice)]
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
