/**
 * Disks: making file systems, wiping, writing to a device as if it were a file.
 */
import type { Call, Redirection, Rule } from '../call.ts'
import { type Field, withoutPrefix, written } from '../field.ts'
import { ask, type Finding, forbid } from '../finding.ts'
import { hasOption, literals, operands } from '../options.ts'
import { isPath, type PathPattern } from '../path-pattern.ts'
import { isBlockDevice, isDevice, type Places } from '../places.ts'

const formats = forbid('format-disk', 'makes a file system over whatever a disk holds')
const wipes = forbid('wipe-disk', 'erases a disk or its partition table')
const triggers = forbid('kernel-trigger', 'makes the kernel reboot or crash')
const writesDevice = forbid('write-device', 'writes straight to a disk or another device')

export const devices: Rule = (call, places) => {
  const { name, args } = call
  if (/^(?:mkfs|mke2fs|mkdosfs|mkntfs|mkswap|newfs)(?:[._].*)?$/.test(name) || name === 'mkreiserfs') return formats
  if (name === 'wipefs') return hasOption(args, 'a', ['all']) ? wipes : undefined
  if (name === 'sgdisk') return hasOption(args, 'Zz', ['zap-all', 'zap']) ? wipes : undefined
  if (name === 'blkdiscard') return wipes
  if (name === 'shred') return operands(args).some((field) => isDisk(field, call, places)) ? wipes : undefined
  if (name === 'dd') return judgeDd(call, places)
  if (/^(?:fdisk|sfdisk|parted|cfdisk|gdisk|cryptsetup|hdparm|nvme)$/.test(name)) return judgePartitioning(call, places)
  if (/^(?:tee|cp|mv|install|truncate|cat|pv|ddrescue)$/.test(name)) return judgeCopy(call, places)
  return undefined
}

function isDisk(field: Field, { cwd }: Pick<Call, 'cwd'>, places: Places): boolean {
  const path = places.path(field, cwd)
  return path !== undefined && isBlockDevice(path)
}

function judgeDd(call: Call, places: Places): Finding | undefined {
  for (const field of call.args) {
    const target = withoutPrefix(field, 'of=')
    if (target === undefined) continue
    const path = places.path(target, call.cwd)
    if (path === undefined) continue
    if (isDevice(path)) return writesDevice
    if (isKernelTrigger(path)) return triggers
  }
  const copies = call.args.some((field) => /^[io]f=/.test(written(field)))
  return copies ? ask('raw-copy', 'copies raw bytes with dd') : undefined
}

function judgePartitioning(call: Call, places: Places): Finding | undefined {
  if (literals(call.args).some((word) => word === '-l' || word === '--list' || word === 'list' || word === 'print'))
    return undefined
  return call.args.some((field) => isDisk(field, call, places)) ? ask('partition-disk', 'changes a disk') : undefined
}

/** Only the last operand of a copy is written; tee and truncate write all of theirs, cat and pv none. */
function judgeCopy(call: Call, places: Places): Finding | undefined {
  const named = operands(call.args)
  const targets = /^(?:tee|truncate)$/.test(call.name)
    ? named
    : /^(?:cp|mv|install|ddrescue)$/.test(call.name)
      ? named.slice(-1)
      : []
  if (targets.some((field) => isDisk(field, call, places))) return writesDevice
  const triggered = targets.some((field) => {
    const path = places.path(field, call.cwd)
    return path !== undefined && isKernelTrigger(path)
  })
  return triggered ? triggers : undefined
}

/** Writing there reboots a Linux machine on the spot. */
const isKernelTrigger = (path: PathPattern) => isPath(path, ['proc', 'sysrq-trigger'])

/** `> /dev/sda`, `> /proc/sysrq-trigger`. */
export function judgeDeviceRedirection(
  { target }: Redirection,
  cwd: string | undefined,
  places: Places,
): Finding | undefined {
  const path = places.path(target, cwd)
  if (path === undefined) return undefined
  if (isBlockDevice(path)) return writesDevice
  return isKernelTrigger(path) ? triggers : undefined
}
