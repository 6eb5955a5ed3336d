/**
 * Rules about files and disks: removal, writes to devices, and files that contain secrets or control access.
 */
import {
  type Field,
  hasOption,
  literalArguments,
  literalText,
  operands,
  sourceText,
  startsUnknown,
  withoutPrefix,
} from '../field.ts'
import { matchesPath, type PathPattern } from '../path-pattern.ts'
import { isBlockDevice, isDevice, type ProtectedPaths } from '../protected-paths.ts'
import {
  type CommandRule,
  forbid,
  type Redirection,
  type RuleMatch,
  requireApproval,
  type SimpleCommand,
} from '../rule.ts'

const removesCritical = forbid(
  'remove-vital',
  'removes a system directory, the root or a home directory with everything in it',
)
const removesRecursively = requireApproval('remove-recursive', 'removes directories with everything in them')
const removesSystemFile = requireApproval('remove-system', 'removes a system file')
const removesUnknown = requireApproval('remove-unknown', 'removes something that is known only at run time')

export const removal: CommandRule = (command, paths) => {
  switch (command.name) {
    case 'rm':
    case 'srm':
      return checkRm(command, paths)
    case 'find':
    case 'fd':
      return checkFind(command, paths)
    case 'mv':
      return someCritical(operands(command.args).slice(0, -1), command, paths)
        ? requireApproval('move-vital', 'moves a system directory or a home directory away')
        : undefined
    default:
      return undefined
  }
}

function someCritical(fields: readonly Field[], { cwd }: SimpleCommand, paths: ProtectedPaths): boolean {
  return fields.some((field) => {
    const path = paths.toPattern(field, cwd)
    return path !== undefined && paths.isCritical(path)
  })
}

function checkRm(command: SimpleCommand, paths: ProtectedPaths): RuleMatch | undefined {
  const targets = operands(command.args)
  const isRecursive = hasOption(command.args, 'rR', ['recursive'])
  if (isRecursive) return someCritical(targets, command, paths) ? removesCritical : removesRecursively
  if (targets.some((field) => startsUnknown(field))) return removesUnknown
  const system = targets.some((field) => {
    const path = paths.toPattern(field, command.cwd)
    return path !== undefined && (paths.isSystem(path) || paths.isCritical(path))
  })
  return system ? removesSystemFile : undefined
}

/** Options of `find` that do not select files. With only these it matches everything. */
const doesNotSelect =
  /^-(?:depth|d|delete|xdev|mount|follow|print0?|ignore_readdir_race|noleaf|maxdepth|mindepth|H|L|P|X|E|s|x|exec|execdir|ok|okdir)$/

function checkFind(command: SimpleCommand, paths: ProtectedPaths): RuleMatch | undefined {
  const words = command.args.map((field) => literalText(field) ?? sourceText(field))
  const executes = words.findIndex((word) => /^-(?:exec|execdir|ok|okdir)$/.test(word))
  const removes =
    words.includes('-delete') || (executes >= 0 && /(?:^|\/)(?:rm|shred|unlink)$/.test(words[executes + 1] ?? ''))
  if (!removes) return undefined
  const firstTest = words.findIndex((word) => /^[-(!]/.test(word) && !/^-[HLPO]/.test(word))
  const starts = command.args.slice(0, firstTest).filter((field) => !(literalText(field) ?? '').startsWith('-'))
  const tests = (executes >= 0 ? words.slice(firstTest, executes + 1) : words.slice(firstTest)).filter((word) =>
    /^[-(!]/.test(word),
  )
  const matchesEverything = tests.every((word) => doesNotSelect.test(word) || word === '-type')
  if (matchesEverything && someCritical(starts, command, paths)) return removesCritical
  return requireApproval('find-delete', 'removes every file that a search finds')
}

const formatsDisk = forbid('format-disk', 'creates a file system over the data of a disk')
const wipesDisk = forbid('wipe-disk', 'erases a disk or its partition table')
const triggersKernel = forbid('kernel-trigger', 'makes the kernel reboot or crash')
const writesDevice = forbid('write-device', 'writes directly to a disk or another device')

/** Names of file systems, so that a script such as `mkfs_helper` is not one of them. */
const formattingPrograms =
  /^(?:mkfs(?:\.[a-z0-9-]+)?|mke2fs|mkdosfs|mkntfs|mkswap|mkreiserfs|newfs(?:[._](?:apfs|exfat|ext2fs|hfs|lfs|msdos|nandfs|udf|v7fs))?)$/

/** Prints the version or the help only, whatever else would follow. */
function isFormatInformation(args: SimpleCommand['args']): boolean {
  const [only, ...more] = args.map((field) => literalText(field))
  return more.length === 0 && /^(?:--version|--help|-h)$/.test(only ?? '')
}

export const devices: CommandRule = (command, paths) => {
  const { name, args } = command
  if (formattingPrograms.test(name)) return isFormatInformation(args) ? undefined : formatsDisk
  if (name === 'wipefs') return hasOption(args, 'a', ['all']) ? wipesDisk : undefined
  if (name === 'sgdisk') return hasOption(args, 'Zz', ['zap-all', 'zap']) ? wipesDisk : undefined
  if (name === 'blkdiscard') return wipesDisk
  if (name === 'shred') return operands(args).some((field) => isDisk(field, command, paths)) ? wipesDisk : undefined
  if (name === 'dd') return checkDd(command, paths)
  if (/^(?:fdisk|sfdisk|parted|cfdisk|gdisk|cryptsetup|hdparm|nvme)$/.test(name))
    return checkPartitioning(command, paths)
  if (/^(?:tee|cp|mv|install|truncate|cat|pv|ddrescue)$/.test(name)) return checkCopy(command, paths)
  return undefined
}

function isDisk(field: Field, { cwd }: Pick<SimpleCommand, 'cwd'>, paths: ProtectedPaths): boolean {
  const path = paths.toPattern(field, cwd)
  return path !== undefined && isBlockDevice(path)
}

function checkDd(command: SimpleCommand, paths: ProtectedPaths): RuleMatch | undefined {
  for (const field of command.args) {
    const target = withoutPrefix(field, 'of=')
    if (target === undefined) continue
    const path = paths.toPattern(target, command.cwd)
    if (path === undefined) continue
    if (isDevice(path)) return writesDevice
    if (isKernelTrigger(path)) return triggersKernel
  }
  const copies = command.args.some((field) => /^[io]f=/.test(sourceText(field)))
  return copies ? requireApproval('raw-copy', 'copies raw bytes with dd') : undefined
}

function checkPartitioning(command: SimpleCommand, paths: ProtectedPaths): RuleMatch | undefined {
  if (
    literalArguments(command.args).some(
      (word) => word === '-l' || word === '--list' || word === 'list' || word === 'print',
    )
  )
    return undefined
  return command.args.some((field) => isDisk(field, command, paths))
    ? requireApproval('partition-disk', 'changes a disk')
    : undefined
}

/** `cp`, `mv`, `install` and `ddrescue` write their last operand; `tee` and `truncate` write all of theirs. */
function checkCopy(command: SimpleCommand, paths: ProtectedPaths): RuleMatch | undefined {
  const candidates = operands(command.args)
  const targets = /^(?:tee|truncate)$/.test(command.name)
    ? candidates
    : /^(?:cp|mv|install|ddrescue)$/.test(command.name)
      ? candidates.slice(-1)
      : []
  if (targets.some((field) => isDisk(field, command, paths))) return writesDevice
  const triggered = targets.some((field) => {
    const path = paths.toPattern(field, command.cwd)
    return path !== undefined && isKernelTrigger(path)
  })
  return triggered ? triggersKernel : undefined
}

/** Writing to this file can reboot or crash a Linux machine at once. */
const isKernelTrigger = (path: PathPattern) => matchesPath(path, ['proc', 'sysrq-trigger'])

/** `> /dev/sda`, `> /proc/sysrq-trigger`. */
function checkDeviceRedirection(
  { target }: Redirection,
  cwd: string | undefined,
  paths: ProtectedPaths,
): RuleMatch | undefined {
  const path = paths.toPattern(target, cwd)
  if (path === undefined) return undefined
  if (isBlockDevice(path)) return writesDevice
  return isKernelTrigger(path) ? triggersKernel : undefined
}

const writesProtected = requireApproval(
  'write-guarded',
  'changes system settings, SSH access or the settings of the gateway',
)
const readsSecret = requireApproval('read-secret', 'reads a secret of the gateway')
const writesUnknown = requireApproval('write-unknown', 'writes to a file that is known only at run time')

export const sensitiveFiles: CommandRule = (command, paths) => {
  if (writtenFields(command).some((field) => isProtected(field, command, paths))) return writesProtected
  const readsAll =
    readsDirectories.test(command.name) ||
    (command.name === 'find' && executesCommand.test(command.args.map(sourceText).join(' ')))
  return command.args.some((field) => isSecret(field, command, paths, readsAll)) ? readsSecret : undefined
}

/** Commands that read all files below a directory operand. */
const readsDirectories = /^(?:cp|mv|ln|scp|rsync|tar|bsdtar|zip|7z|cpio|pax|[efr]?grep|rg|ag|ack)$/
const executesCommand = /(?:^| )-(?:exec|execdir|ok|okdir) /

/** The arguments that a command writes to. */
function writtenFields({ name, args }: SimpleCommand): readonly Field[] {
  switch (name) {
    case 'cp':
    case 'mv':
    case 'install':
    case 'ln':
    case 'rsync':
    case 'scp': {
      const targetDirectories = args.flatMap((field, index) => {
        const next = /^(?:-[a-zA-Z]*t|--target-directory)$/.test(literalText(field) ?? '')
          ? args[index + 1]
          : (withoutPrefix(field, '--target-directory=') ?? withoutPrefix(field, '-t'))
        return next === undefined ? [] : [next]
      })
      // `mv` changes its sources as well.
      return [...(name === 'mv' ? operands(args) : operands(args).slice(-1)), ...targetDirectories]
    }
    case 'tee':
    case 'truncate':
    case 'touch':
    case 'chmod':
    case 'chown':
    case 'unlink':
    case 'rmdir':
    case 'shred':
    case 'rm':
      return operands(args)
    case 'sed':
    case 'perl':
    case 'ed':
    case 'ex': {
      const inPlace =
        name.startsWith('e') || args.some((field) => /^(?:-[a-zA-Z]*i|--in-place)/.test(literalText(field) ?? ''))
      return inPlace ? operands(args) : []
    }
    case 'curl':
    case 'wget':
      return args.flatMap((field, index) => {
        if (
          /^(?:-[a-zA-Z]*[oOP]|--output|--output-document|--output-dir|--directory-prefix)$/.test(
            literalText(args[index - 1]) ?? '',
          )
        )
          return [field]
        const joint = ['-o', '-O', '-P', '--output=', '--output-document=', '--output-dir=', '--directory-prefix=']
        return joint.map((option) => withoutPrefix(field, option)).filter((target) => target !== undefined)
      })
    default:
      return []
  }
}

function isProtected(field: Field, { cwd }: Pick<SimpleCommand, 'cwd'>, paths: ProtectedPaths): boolean {
  const path = paths.toPattern(field, cwd)
  return path !== undefined && paths.isProtected(path)
}

function isSecret(
  field: Field,
  { cwd }: Pick<SimpleCommand, 'cwd'>,
  paths: ProtectedPaths,
  includeDirectory = false,
): boolean {
  const path = paths.toPattern(field, cwd)
  return path !== undefined && (paths.isSecret(path) || (includeDirectory && paths.containsSecrets(path)))
}

const writeOperators = new Set(['>', '>>', '>|', '&>', '&>>', '<>', '>&'])

/** `> /etc/hosts`, `< ~/.hermes/.env`. */
function checkFileRedirection(
  { operator, target }: Redirection,
  cwd: string | undefined,
  paths: ProtectedPaths,
): RuleMatch | undefined {
  const context = { cwd }
  if (!writeOperators.has(operator)) return isSecret(target, context, paths) ? readsSecret : undefined
  if (operator === '>&' && /^(?:\d+|-)$/.test(literalText(target) ?? '')) return undefined
  if (isProtected(target, context, paths)) return writesProtected
  return startsUnknown(target) ? writesUnknown : undefined
}

/** The rules for redirections: `> /dev/sda`, `> /etc/hosts`, `< ~/.hermes/.env`. */
export function checkRedirection(
  redirection: Redirection,
  cwd: string | undefined,
  paths: ProtectedPaths,
): RuleMatch | undefined {
  return checkDeviceRedirection(redirection, cwd, paths) ?? checkFileRedirection(redirection, cwd, paths)
}
