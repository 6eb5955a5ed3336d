/**
 * All rules about what a command does by its name and arguments, in one list.
 */
import type { Call, Redirection, Rule } from '../call.ts'
import type { Finding } from '../finding.ts'
import type { Places } from '../places.ts'
import { containers } from './containers.ts'
import { databases } from './databases.ts'
import { devices, judgeDeviceRedirection } from './devices.ts'
import { permissions } from './permissions.ts'
import { power } from './power.ts'
import { processes } from './processes.ts'
import { removal } from './removal.ts'
import { judgeFileRedirection, sensitiveFiles } from './sensitive-files.ts'

const rules: readonly Rule[] = [removal, devices, power, processes, permissions, databases, containers, sensitiveFiles]

export function judgeCall(call: Call, places: Places): Finding[] {
  return rules.map((rule) => rule(call, places)).filter((finding) => finding !== undefined)
}

export function judgeRedirection(
  redirection: Redirection,
  cwd: string | undefined,
  places: Places,
): Finding | undefined {
  return judgeDeviceRedirection(redirection, cwd, places) ?? judgeFileRedirection(redirection, cwd, places)
}
