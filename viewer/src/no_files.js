// Stands for node's fs, which pages do not have.
export default {};
