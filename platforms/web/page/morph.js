/**
 * Brings existing nodes to a new form with as few changes as possible, so that a text that grows keeps its selection,
 * its focus and its scroll position, and nothing flickers.
 */

/**
 * Makes the children of `parent`, from the one at `start` on, equal to `nodes`. Takes nodes over where there is
 * nothing to keep.
 *
 * @param {Node} parent
 * @param {readonly Node[]} nodes
 * @param {number} [start]
 */
export function morphChildren(parent, nodes, start = 0) {
  let old = parent.childNodes[start] ?? null
  for (const node of nodes) {
    if (old === null) {
      parent.appendChild(node)
      continue
    }
    /** @type {ChildNode | null} */
    const next = old.nextSibling
    if (!morph(old, node)) parent.replaceChild(node, old)
    old = next
  }
  while (old !== null) {
    const next = old.nextSibling
    old.remove()
    old = next
  }
}

/**
 * @param {Node} old
 * @param {Node} node
 * @returns {boolean} false where the two are of different kinds
 */
function morph(old, node) {
  if (old.nodeName !== node.nodeName) return false
  if (old instanceof Text && node instanceof Text) {
    if (old.data === node.data) return true
    if (node.data.startsWith(old.data)) old.appendData(node.data.slice(old.data.length))
    else old.data = node.data
    return true
  }
  if (!(old instanceof Element && node instanceof Element)) return false
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of node.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  morphChildren(old, [...node.childNodes])
  return true
}
