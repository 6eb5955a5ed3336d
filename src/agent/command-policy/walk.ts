/**
 * Walks the syntax tree of a command and judges every simple command in it, wherever it hides: in substitutions,
 * here-documents, arithmetic, functions, behind `sudo` or in the text given to `bash -c`.
 */
import { type Command, type CommandNode, forEachChild, parse, type Redirected, type SyntaxNode } from 'unbash'
import type { Call, Input } from './call.ts'
import { type ExpandContext, expandWord } from './expand.ts'
import { type Field, literal, startsUnknown, textPiece, written } from './field.ts'
import { ask, type Finding, forbid } from './finding.ts'
import { isForkBomb } from './fork-bomb.ts'
import { pipedText } from './piped-text.ts'
import type { Places } from './places.ts'
import { inputOf, redirectionsOf } from './redirections.ts'
import { judgeCall, judgeRedirection } from './rules/index.ts'
import { scriptsOf } from './scripts.ts'
import { createVariables, type Lookup } from './variables.ts'
import { innerCommands } from './wrappers.ts'

/** What surrounds the part of the tree that is being looked at. */
interface Surroundings {
  /** Changes as `cd` is met; parts that run in a process of their own get a copy. */
  readonly place: { cwd: string | undefined }
  readonly input: Input
  readonly background: boolean
  readonly variable: Lookup
  /** How many texts deep: `bash -c "bash -c …"`. */
  readonly depth: number
}

export interface Walk {
  readonly findings: readonly Finding[]
  /** Each simple command as plain words, for the deny list. */
  readonly commands: readonly string[]
}

export interface WalkOptions {
  readonly places: Places
  readonly variable: Lookup
  readonly cwd: string | undefined
  readonly input: Input
}

const tooDeep = ask('too-deep', 'hides commands in commands too deeply to be judged')
const tooLarge = ask('too-large', 'has too many parts to be judged')
const maxDepth = 8
/** Words that one first word may become. */
const maxNames = 64
const maxSteps = 20_000

/** Throws a RangeError for a text nested so deeply that the stack does not hold it; nothing else. */
export function walkCommand(text: string, { places, variable, cwd, input }: WalkOptions): Walk {
  const findings: Finding[] = []
  const commands: string[] = []
  const budget = { steps: maxSteps }
  const report = (finding: Finding | undefined) => {
    if (finding !== undefined) findings.push(finding)
  }

  const contextOf = ({ place, variable: lookup }: Surroundings): ExpandContext => ({
    variable: lookup,
    userHome: places.userHome,
    cwd: place.cwd,
    budget,
    depth: 0,
  })

  const visitText = (script: string, around: Surroundings) => {
    if (around.depth > maxDepth) {
      report(tooDeep)
      return
    }
    const tree = parse(script)
    visit(tree, { ...around, variable: createVariables(tree, around.variable) })
  }

  const visitChildren = (node: SyntaxNode, around: Surroundings) => {
    forEachChild(node, (child) => visit(child, around))
  }

  const visit = (node: SyntaxNode, around: Surroundings) => {
    switch (node.type) {
      case 'Script':
        if ((node.errors?.length ?? 0) > 0) report(ask('unreadable', 'is not valid shell syntax'))
        visitChildren(node, around)
        break
      case 'Statement':
        visitChildren(node, node.background === true ? { ...apart(around), background: true } : around)
        break
      case 'Pipeline':
        visitPipeline(node.commands, around)
        break
      case 'Subshell':
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'Coproc':
        visitChildren(node, apart(around))
        break
      case 'Function':
        if (isForkBomb(node)) report(forbid('fork-bomb', 'starts itself over and over until the machine stops'))
        visitChildren(node, apart(around))
        break
      case 'Redirected':
        visitRedirected(node, around)
        break
      case 'Command':
        visitChildren(node, around)
        visitCommand(node, around)
        break
      default:
        visitChildren(node, around)
    }
  }

  const visitRedirected = (node: Redirected, around: Surroundings) => {
    const context = contextOf(around)
    for (const one of redirectionsOf(node.redirects, context)) report(judgeRedirection(one, context.cwd, places))
    for (const redirect of node.redirects) visit(redirect, around)
    visit(node.command, { ...around, input: inputOf(node.redirects, context, around.input) })
  }

  const visitPipeline = (stages: readonly CommandNode[], around: Surroundings) => {
    for (const [index, stage] of stages.entries()) {
      if (stages.length === 1) visit(stage, around)
      else {
        const before = stages[index - 1]
        const text = pipedText(before, contextOf(around))
        visit(stage, { ...apart(around), input: before === undefined ? around.input : { kind: 'pipe', text } })
      }
    }
  }

  const visitCommand = (node: Command, around: Surroundings) => {
    const context = contextOf(around)
    for (const one of redirectionsOf(node.redirects, context)) report(judgeRedirection(one, around.place.cwd, places))
    if (node.name === undefined) return
    const names = expandWord(node.name, context)
    const args = node.args.flatMap((word) =>
      word.type === 'Word' ? expandWord(word, context) : assigned(word.name, word.value, context),
    )
    const inner = { ...around, input: inputOf(node.redirects, context, around.input) }
    // A first word of several values, or of several words: each may be the name.
    if (names.length === 0) judge(args, inner, [])
    if (names.length > maxNames) report(tooLarge)
    for (const index of names.slice(0, maxNames).keys()) judge([...names.slice(index), ...args], inner, [])
    if (budget.steps <= 0) report(tooLarge)
  }

  const judge = (words: readonly Field[], around: Surroundings, wrappers: readonly string[]): void => {
    const [first, ...args] = words
    if (first === undefined) return
    const path = literal(first)
    if (path === undefined) {
      report(ask('unknown-command', 'runs a command whose name is known only when it runs'))
      // An empty variable leaves the next word as the name.
      if (startsUnknown(first) && first.length === 1) judge(args, around, wrappers)
      return
    }
    if (wrappers.length > maxDepth) {
      report(tooDeep)
      return
    }
    const name = path.slice(path.lastIndexOf('/') + 1)
    commands.push([path, ...args.map(written)].join(' '), [name, ...args.map(written)].join(' '))
    const call: Call = {
      name,
      args,
      input: around.input,
      cwd: around.place.cwd,
      background: around.background,
      wrappers,
    }
    for (const finding of judgeCall(call, places)) report(finding)
    for (const inner of innerCommands(name, args)) judge(inner, around, [...wrappers, name])
    for (const { shell, finding } of scriptsOf(call)) {
      report(finding)
      if (shell !== undefined) visitText(shell, { ...around, depth: around.depth + 1 })
    }
    if (/^(?:cd|pushd|popd)$/.test(name)) around.place.cwd = folderAfter(name, args, around.place.cwd)
  }

  const folderAfter = (name: string, args: readonly Field[], now: string | undefined): string | undefined => {
    const [target] = args.filter((field) => !/^-[LPe@]+$|^--$/.test(literal(field) ?? ''))
    if (target === undefined) return name === 'cd' ? places.userHome : undefined
    if (literal(target) === '-') return undefined
    const path = places.path(target, now)
    const parts = path?.map(literal)
    return parts === undefined || parts.includes(undefined) ? undefined : `/${parts.join('/')}`
  }

  visitText(text, { place: { cwd }, input, background: false, variable, depth: 0 })
  return { findings, commands }
}

/** A process of its own: its `cd` does not move the others. */
function apart(around: Surroundings): Surroundings {
  return { ...around, place: { ...around.place } }
}

function assigned(name: string, value: SyntaxNode, context: ExpandContext): Field[] {
  if (value.type !== 'Word') return [[textPiece(`${name}=`)]]
  return expandWord(value, context).map((field) => [textPiece(`${name}=`), ...field])
}
