/**
 * Opens the skills of a home for commands, without a gateway.
 */
import { createSkills, type Skills } from '../../agent/skills/skills.ts'
import { bundledSkillsDirectory, credentialsOf, withheldVariables } from '../../flows/commands/skill-access.ts'
import { silentLog } from '../../lib/log.ts'
import type { CliContext } from '../kit/context.ts'
import { readSettings } from '../kit/settings.ts'

export async function openSkills(context: CliContext): Promise<Skills> {
  const { config, catalogue } = await readSettings(context)
  return createSkills({
    root: context.home.skills,
    home: context.home.root,
    bundled: bundledSkillsDirectory,
    settings: config.current,
    environment: () => config.environment().values,
    withheld: withheldVariables(catalogue),
    credentials: () => credentialsOf(config.current(), config.environment().values),
    // Plugins are not loaded: they could have effects.
    pluginSkills: () => [],
    onListed: () => undefined,
    log: silentLog,
  })
}
