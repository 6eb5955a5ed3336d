/**
 * A function that starts itself more than once, or starts itself and goes on: it multiplies until the machine stops.
 */
import { forEachChild, type Function as ShellFunction, type SyntaxNode } from 'unbash'

export function isForkBomb(node: ShellFunction): boolean {
  const name = node.name.value
  const multiplies = (inner: SyntaxNode): boolean => {
    if (inner.type === 'Pipeline' && inner.commands.filter((stage) => callsFunction(stage, name)).length > 1)
      return true
    if (inner.type === 'Statement' && inner.background === true && callsFunction(inner, name)) return true
    return someChild(inner, multiplies)
  }
  return multiplies(node.body)
}

function callsFunction(node: SyntaxNode, name: string): boolean {
  if (node.type === 'Command' && node.name?.value === name) return true
  return someChild(node, (child) => callsFunction(child, name))
}

function someChild(node: SyntaxNode, test: (child: SyntaxNode) => boolean): boolean {
  let found = false
  forEachChild(node, (child) => {
    found ||= test(child)
  })
  return found
}
