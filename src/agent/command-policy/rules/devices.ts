/**
 * Disks: making file systems, wiping, writing to a device as if it were a file.
 */

import { type Field, sourceText, withoutPrefix } from '../field.ts'
import { hasOption, literalArguments, operands } from '../options.ts'
import { matchesPath, type PathPattern } from '../path-pattern.ts'
import { isBlockDevice, isDevice, type ProtectedPaths } from '../protected-paths.ts'
import { forbid, type RuleMatch, requireApproval } from '../rule-match.ts'
import type { CommandRule, Redirection, SimpleCommand } from '../simple-command.ts'

const formatsDisk = forbid('format-disk', 'makes a file system over whatever a disk holds')
const wipesDisk = forbid('wipe-disk', 'erases a disk or its partition table')
const triggersKernel = forbid('kernel-trigger', 'makes the kernel reboot or crash')
const writesDevice = forbid('write-device', 'writes straight to a disk or another device')

export const devices: CommandRule = (call, places) => {
  const { name, args } = call
  if (/^(?:mkfs|mke2fs|mkdosfs|mkntfs|mkswap|newfs)(?:[._].*)?$/.test(name) || name === 'mkreiserfs') return formatsDisk
  if (name === 'wipefs') return hasOption(args, 'a', ['all']) ? wipesDisk : undefined
  if (name === 'sgdisk') return hasOption(args, 'Zz', ['zap-all', 'zap']) ? wipesDisk : undefined
  if (name === 'blkdiscard') return wipesDisk
  if (name === 'shred') return operands(args).some((field) => isDisk(field, call, places)) ? wipesDisk : undefined
  if (name === 'dd') return checkDd(call, places)
  if (/^(?:fdisk|sfdisk|parted|cfdisk|gdisk|cryptsetup|hdparm|nvme)$/.test(name)) return checkPartitioning(call, places)
  if (/^(?:tee|cp|mv|install|truncate|cat|pv|ddrescue)$/.test(name)) return checkCopy(call, places)
  return undefined
}

function isDisk(field: Field, { cwd }: Pick<SimpleCommand, 'cwd'>, places: ProtectedPaths): boolean {
  const path = places.toPattern(field, cwd)
  return path !== undefined && isBlockDevice(path)
}

function checkDd(call: SimpleCommand, places: ProtectedPaths): RuleMatch | undefined {
  for (const field of call.args) {
    const target = withoutPrefix(field, 'of=')
    if (target === undefined) continue
    const path = places.toPattern(target, call.cwd)
    if (path === undefined) continue
    if (isDevice(path)) return writesDevice
    if (isKernelTrigger(path)) return triggersKernel
  }
  const copies = call.args.some((field) => /^[io]f=/.test(sourceText(field)))
  return copies ? requireApproval('raw-copy', 'copies raw bytes with dd') : undefined
}

function checkPartitioning(call: SimpleCommand, places: ProtectedPaths): RuleMatch | undefined {
  if (
    literalArguments(call.args).some(
      (word) => word === '-l' || word === '--list' || word === 'list' || word === 'print',
    )
  )
    return undefined
  return call.args.some((field) => isDisk(field, call, places))
    ? requireApproval('partition-disk', 'changes a disk')
    : undefined
}

/** Only the last operand of a copy is written; tee and truncate write all of theirs, cat and pv none. */
function checkCopy(call: SimpleCommand, places: ProtectedPaths): RuleMatch | undefined {
  const named = operands(call.args)
  const targets = /^(?:tee|truncate)$/.test(call.name)
    ? named
    : /^(?:cp|mv|install|ddrescue)$/.test(call.name)
      ? named.slice(-1)
      : []
  if (targets.some((field) => isDisk(field, call, places))) return writesDevice
  const triggered = targets.some((field) => {
    const path = places.toPattern(field, call.cwd)
    return path !== undefined && isKernelTrigger(path)
  })
  return triggered ? triggersKernel : undefined
}

/** Writing there reboots a Linux machine on the spot. */
const isKernelTrigger = (path: PathPattern) => matchesPath(path, ['proc', 'sysrq-trigger'])

/** `> /dev/sda`, `> /proc/sysrq-trigger`. */
export function checkDeviceRedirection(
  { target }: Redirection,
  cwd: string | undefined,
  places: ProtectedPaths,
): RuleMatch | undefined {
  const path = places.toPattern(target, cwd)
  if (path === undefined) return undefined
  if (isBlockDevice(path)) return writesDevice
  return isKernelTrigger(path) ? triggersKernel : undefined
}
