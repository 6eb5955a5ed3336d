/**
 * All rules about what a command does by its name and arguments, in one list.
 */

import type { ProtectedPaths } from '../protected-paths.ts'
import type { RuleMatch } from '../rule-match.ts'
import type { CommandRule, Redirection, SimpleCommand } from '../simple-command.ts'
import { containers } from './containers.ts'
import { databases } from './databases.ts'
import { checkDeviceRedirection, devices } from './devices.ts'
import { permissions } from './permissions.ts'
import { power } from './power-off.ts'
import { processes } from './processes.ts'
import { removal } from './removal.ts'
import { checkFileRedirection, sensitiveFiles } from './sensitive-files.ts'

const rules: readonly CommandRule[] = [
  removal,
  devices,
  power,
  processes,
  permissions,
  databases,
  containers,
  sensitiveFiles,
]

export function checkSimpleCommand(call: SimpleCommand, places: ProtectedPaths): RuleMatch[] {
  return rules.map((rule) => rule(call, places)).filter((finding) => finding !== undefined)
}

export function checkRedirection(
  redirection: Redirection,
  cwd: string | undefined,
  places: ProtectedPaths,
): RuleMatch | undefined {
  return checkDeviceRedirection(redirection, cwd, places) ?? checkFileRedirection(redirection, cwd, places)
}
