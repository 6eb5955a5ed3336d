/**
 * Names the variables that the configuration passes to commands and that no command receives.
 */
import { isGatewayCredential } from '../../agent/environments/passed-variables.ts'
import { withheldVariables } from '../../flows/commands/skill-access.ts'
import { type Check, type CheckResult, note } from './check-result.ts'

const subject = 'Variables of commands'

export const checkPassedVariables: Check = async ({ settings: { config, catalogue } }) => {
  const { env_passthrough: names, docker_forward_env: inContainers, backend } = config.current().terminal
  const { values } = config.environment()
  const withheld = withheldVariables(catalogue)
  return [...new Set([...names, ...(backend === 'docker' ? inContainers : [])])].flatMap((name): CheckResult[] => {
    if (withheld.includes(name) || isGatewayCredential(name))
      return [
        note(
          subject,
          `no command receives ${name}, because it is a credential of the gateway`,
          'Give commands a key of their own, under a name of their own.',
        ),
      ]
    return Object.hasOwn(values, name)
      ? []
      : [note(subject, `no command receives ${name}, because it is not set`, 'Set it in .env.')]
  })
}
